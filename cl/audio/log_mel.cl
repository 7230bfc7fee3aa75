/* Log-mel spectrogram of frames of FRAME samples: y (T, M), samples (1, n). Row t is the frame centred at
 * sample first + HOP * t; samples are reflected at both ends.
 *
 *     x[j]    = window[j] * samples[first + HOP * t - FRAME / 2 + j]
 *     p[k]    = |sum over j of x[j] exp(-2 pi i j k / FRAME)|^2, k <= FRAME / 2
 *     y[t][m] = log10(max(1e-10, sum over k of filters[m][k] p[k]));  peaks[t] = max over m of y[t][m]
 *
 * The transform has two steps, FRAME = LONG * SHORT, over j = SHORT a + b and k = c + LONG d:
 *
 *     u[c][b] = exp(-2 pi i b c / FRAME) * sum over a < LONG of x[SHORT a + b] exp(-2 pi i a c / LONG)
 *     X[k]    = sum over b < SHORT of u[c][b] exp(-2 pi i b d / SHORT)
 *
 * x is real, so X[FRAME - k] is the conjugate of X[k], and c <= LONG / 2 suffices. tables holds the window,
 * then cosines and sines of a c (HALF, LONG), of b c (HALF, SHORT) and of b d (SHORT, SHORT). Band m has the
 * bins spans[m][0] .. spans[m][1] - 1.
 *
 * CPU variant: a group computes one frame at a time, with vectors over b, and then over d. GPU variant: a group
 * computes a frame; work-items compute elements of u, then of X, then bands. No macros. */
#define FRAME 400
#define HOP   160
#define LONG  25
#define SHORT 16
#define HALF  (LONG / 2 + 1)
#define BINS  (FRAME / 2 + 1)

#define LONG_COSINES(tables)  ((tables) + FRAME)
#define LONG_SINES(tables)    (LONG_COSINES(tables) + HALF * LONG)
#define TURN_COSINES(tables)  (LONG_SINES(tables) + HALF * LONG)
#define TURN_SINES(tables)    (TURN_COSINES(tables) + HALF * SHORT)
#define SHORT_COSINES(tables) (TURN_SINES(tables) + HALF * SHORT)
#define SHORT_SINES(tables)   (SHORT_COSINES(tables) + SHORT * SHORT)

#define ARGUMENTS                                                                                                      \
    __global float *y, int y_offset, int y_stride, __global float *peaks, int peaks_offset, int peaks_stride,          \
        const __global float *samples, int samples_offset, int samples_stride, const __global float *tables,           \
        int tables_offset, int tables_stride, const __global float *filters, int filters_offset, int filters_stride,   \
        const __global int *spans, int spans_offset, int spans_stride, int rows, int columns, int sample_count,        \
        int first

/* Returns a sample by its index, reflected up to a frame beyond the ends; clamped if there are too few
 * samples. */
static float reflected(const __global float *samples, long at, int count)
{
    at = max(at, -at);
    at = at >= count ? 2 * ((long)count - 1) - at : at;
    return count > 0 ? samples[clamp(at, 0L, (long)count - 1)] : 0.0f;
}

#define LEAST_POWER 1e-10f

/* Returns log10 of a power, which is raised to LEAST_POWER; NaN stays NaN. */
static float log_of_power(float power)
{
    return log10(power < LEAST_POWER ? LEAST_POWER : power);
}

/* Multiplies the samples of the frame that begins at `start` by the window. */
static void take_frame(float *x, const __global float *samples, long start, int count, const __global float *window)
{
    if (start >= 0 && start + FRAME <= count) {
        for (int j = 0; j < FRAME; j += 16) {
            vstore16(vload16(0, samples + start + j) * vload16(0, window + j), 0, x + j);
        }
        return;
    }
    for (int j = 0; j < FRAME; j++) {
        x[j] = reflected(samples, start + j, count) * window[j];
    }
}

/* Returns the bin, at most FRAME / 2, of an element of the transform, direct or conjugate. */
static int bin_of(int c, int d)
{
    int k = c + LONG * d;
    return k <= FRAME / 2 ? k : FRAME - k;
}

/* Computes u for two rows c together, to have enough independent sums to hide the latency. */
static void transform_long(float (*u)[2][SHORT], const float *x, const __global float *tables, int c, int other)
{
    const int both[2] = {c, other};
    float16 re[2] = {0.0f, 0.0f}, im[2] = {0.0f, 0.0f};
    for (int a = 0; a < LONG; a++) {
        float16 v = vload16(a, x);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            re[i] = fma16(v, (float16)(LONG_COSINES(tables)[both[i] * LONG + a]), re[i]);
            im[i] = fma16(v, (float16)(-LONG_SINES(tables)[both[i] * LONG + a]), im[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float16 cosine = vload16(both[i], TURN_COSINES(tables)), sine = vload16(both[i], TURN_SINES(tables));
        vstore16(fma16(re[i], cosine, im[i] * sine), 0, u[both[i]][0]);
        vstore16(fma16(im[i], cosine, -re[i] * sine), 0, u[both[i]][1]);
    }
}

/* Computes the power of the bins of row c. */
static void transform_short(float *p, const float (*u)[SHORT], const __global float *tables, int c)
{
    float16 re[2] = {0.0f, 0.0f}, im[2] = {0.0f, 0.0f}; /* sums with cosines and with sines */
    for (int b = 0; b < SHORT; b++) {
        float16 u_re = (float16)(u[0][b]), u_im = (float16)(u[1][b]);
        float16 cosine = vload16(b, SHORT_COSINES(tables)), sine = vload16(b, SHORT_SINES(tables));
        re[0] = fma16(u_re, cosine, re[0]);
        re[1] = fma16(u_im, sine, re[1]);
        im[0] = fma16(u_im, cosine, im[0]);
        im[1] = fma16(-u_re, sine, im[1]);
    }
    float16 real = re[0] + re[1], imaginary = im[0] + im[1];
    float power[SHORT];
    vstore16(fma16(real, real, imaginary * imaginary), 0, power);
    for (int d = 0; d < (c == 0 ? SHORT / 2 + 1 : SHORT); d++) {
        p[bin_of(c, d)] = power[d];
    }
}

/* Computes the logarithms of sixteen bands, of which `left` exist; the others repeat the last one. */
#define log_bands(p, filters, stride, spans, span_stride, left) \
    (wide_log_bands(p, filters, stride, spans, span_stride, left).v)
static inline struct wide wide_log_bands(const float *p, const __global float *filters, int stride,
                                         const __global int *spans, int span_stride, int left)
{
    float sums[16];
    for (int m = 0; m < 16; m++) {
        int band = min(m, left - 1);
        const __global float *filter = filters + (size_t)band * stride;
        const __global int *span = spans + (size_t)band * span_stride;
        float sum = 0.0f;
        for (int k = max(span[0], 0); k < min(span[1], BINS); k++) {
            sum = fma(filter[k], p[k], sum);
        }
        sums[m] = sum;
    }
    float16 power = vload16(0, sums);
    return WIDE(log10_16(power < LEAST_POWER ? (float16)(LEAST_POWER) : power)); /* keeps NaN */
}

CPU_KERNEL void log_mel_forward_cpu(ARGUMENTS)
{
    tables += tables_offset;
    samples += samples_offset;
    filters += filters_offset;
    spans += spans_offset;
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        float x[FRAME], u[HALF][2][SHORT], p[BINS];
        take_frame(x, samples, (long)first + (long)HOP * t - FRAME / 2, sample_count, tables);
        for (int c = 0; c < HALF; c += 2) {
            transform_long(u, x, tables, c, min(c + 1, HALF - 1));
        }
        for (int c = 0; c < HALF; c++) {
            transform_short(p, (const float(*)[SHORT])u[c], tables, c);
        }
        float16 peak = -INFINITY;
        __global float *row = y + y_offset + (size_t)t * y_stride;
        for (int m = 0; m < columns; m += 16) {
            float16 values = log_bands(p, filters + (size_t)m * filters_stride, filters_stride,
                                       spans + (size_t)m * spans_stride, spans_stride, columns - m);
            peak = fmax16(peak, values);
            if (columns - m >= 16) {
                vstore16(values, 0, row + m);
            } else {
                store_part(values, row + m, columns - m);
            }
        }
        peaks[peaks_offset + t] = max16(peak);
    }
}

/* work: FRAME floats for x, 2 * HALF * SHORT for u, BINS for p; shared: GROUP floats. */
GPU_KERNEL void log_mel_forward_gpu(ARGUMENTS, __local float *work, __local float *shared)
{
    __local float *x = work, *u_re = x + FRAME, *u_im = u_re + HALF * SHORT, *p = u_im + HALF * SHORT;
    int item = (int)get_local_id(0);
    tables += tables_offset;
    samples += samples_offset;
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        long start = (long)first + (long)HOP * t - FRAME / 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = item; j < FRAME; j += GROUP) {
            x[j] = reflected(samples, start + j, sample_count) * tables[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < HALF * SHORT; i += GROUP) {
            int c = i / SHORT, b = i % SHORT;
            float re = 0.0f, im = 0.0f;
            for (int a = 0; a < LONG; a++) {
                re = fma(x[SHORT * a + b], LONG_COSINES(tables)[c * LONG + a], re);
                im = fma(x[SHORT * a + b], -LONG_SINES(tables)[c * LONG + a], im);
            }
            u_re[i] = fma(re, TURN_COSINES(tables)[i], im * TURN_SINES(tables)[i]);
            u_im[i] = fma(im, TURN_COSINES(tables)[i], -re * TURN_SINES(tables)[i]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < HALF * SHORT; i += GROUP) {
            int c = i / SHORT, d = i % SHORT;
            float re = 0.0f, im = 0.0f;
            for (int b = 0; b < SHORT; b++) {
                float cosine = SHORT_COSINES(tables)[b * SHORT + d], sine = SHORT_SINES(tables)[b * SHORT + d];
                re = fma(u_re[c * SHORT + b], cosine, fma(u_im[c * SHORT + b], sine, re));
                im = fma(u_im[c * SHORT + b], cosine, fma(-u_re[c * SHORT + b], sine, im));
            }
            if (c > 0 || d <= SHORT / 2) {
                p[bin_of(c, d)] = fma(re, re, im * im);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float peak = -INFINITY;
        for (int m = item; m < columns; m += GROUP) {
            const __global float *filter = filters + filters_offset + (size_t)m * filters_stride;
            const __global int *span = spans + spans_offset + (size_t)m * spans_stride;
            float sum = 0.0f;
            for (int k = max(span[0], 0); k < min(span[1], BINS); k++) {
                sum = fma(filter[k], p[k], sum);
            }
            float value = log_of_power(sum);
            y[y_offset + (size_t)t * y_stride + m] = value;
            peak = fmax(peak, value);
        }
        peak = group_max(shared, peak);
        if (item == 0) {
            peaks[peaks_offset + t] = peak;
        }
    }
}

/* y[t][m] = (max(y[t][m], lowest) + 4) / 4; NaN stays NaN. A group computes one row at a time. */
#define SCALE_ARGUMENTS __global float *y, int y_offset, int y_stride, int rows, int columns, float lowest

static float scaled(float value, float lowest)
{
    return ((value < lowest ? lowest : value) + 4.0f) * 0.25f;
}

CPU_KERNEL void log_mel_scale_cpu(SCALE_ARGUMENTS)
{
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        __global float *row = y + y_offset + (size_t)t * y_stride;
        for (int m = 0; m < columns; m++) {
            row[m] = scaled(row[m], lowest);
        }
    }
}

GPU_KERNEL void log_mel_scale_gpu(SCALE_ARGUMENTS)
{
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        __global float *row = y + y_offset + (size_t)t * y_stride;
        for (int m = (int)get_local_id(0); m < columns; m += GROUP) {
            row[m] = scaled(row[m], lowest);
        }
    }
}
