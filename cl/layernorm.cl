/* Normalisation of rows: y (N, D) of x (N, D) with gamma (1, D) and beta (1, D); y may be x.
 *
 *   NORM 0: y = (x - mean) / sqrt(var + eps) * gamma + beta, var = mean of (x - mean)^2
 *   NORM 1: y = x / sqrt(mean of x^2 + eps) * gamma
 *   NORM 2: y = gamma * (x - mean) / (std + eps) + beta, std^2 = sum of (x - mean)^2 / (D - 1)
 *
 * The squares are taken after the mean is known: a row far from zero would lose its digits otherwise. CPU form: a group
 * takes whole rows; a row stays in the first cache between the passes. GPU form: a group takes a row, work-item i its
 * columns 4i .. 4i + 3, then QUADS further on.
 *
 * Macros: NORM; HAS_BETA where there is a beta (its buffer is null otherwise). */
#ifndef NORM
#error "NORM: 0 (layer), 1 (RMS) or 2 (std)"
#endif

/* What a centred row is multiplied with. */
static float scale_of(float squares, int columns, float eps)
{
#if NORM == 2
    return 1.0f / (sqrt(squares / (float)max(columns - 1, 1)) + eps);
#else
    return 1.0f / sqrt(squares / (float)columns + eps);
#endif
}

#ifdef HAS_BETA
#define BETA(T, load) (load)
#else
#define BETA(T, load) ((T)(0.0f))
#endif

#if NORM != 1
static float row_mean(const __global float *x, int columns)
{
    float16 a = (float16)(0.0f), b = a, c = a, d = a;
    int i = 0;
    for (; i + 64 <= columns; i += 64) {
        a += vload16(0, x + i);
        b += vload16(0, x + i + 16);
        c += vload16(0, x + i + 32);
        d += vload16(0, x + i + 48);
    }
    for (; i + 16 <= columns; i += 16) {
        a += vload16(0, x + i);
    }
    b += load_part(x + i, columns - i, 0.0f);
    return sum16((a + b) + (c + d)) / (float)columns;
}
#endif

/* sum over i of (x[i] - mean)^2 */
static float row_squares(const __global float *x, float mean, int columns)
{
    float16 a = (float16)(0.0f), b = a, c = a, d = a;
    int i = 0;
    for (; i + 64 <= columns; i += 64) {
        float16 p = vload16(0, x + i) - mean, q = vload16(0, x + i + 16) - mean;
        float16 r = vload16(0, x + i + 32) - mean, s = vload16(0, x + i + 48) - mean;
        a = fma(p, p, a);
        b = fma(q, q, b);
        c = fma(r, r, c);
        d = fma(s, s, d);
    }
    for (; i + 16 <= columns; i += 16) {
        float16 p = vload16(0, x + i) - mean;
        a = fma(p, p, a);
    }
    float16 p = load_part(x + i, columns - i, mean) - mean; /* what is not there counts nothing */
    b = fma(p, p, b);
    return sum16((a + b) + (c + d));
}

static inline void norm_row(__global float *out, const __global float *in, const __global float *gamma,
                            const __global float *beta, int columns, float eps)
{
#if NORM == 1
    float mean = 0.0f;
#else
    float mean = row_mean(in, columns);
#endif
    float scale = scale_of(row_squares(in, mean, columns), columns, eps);
    int i = 0;
    for (; i + 16 <= columns; i += 16) {
        float16 normal = (vload16(0, in + i) - mean) * scale;
        vstore16(fma(normal, vload16(0, gamma + i), BETA(float16, vload16(0, beta + i))), 0, out + i);
    }
    for (; i < columns; i++) {
        out[i] = fma((in[i] - mean) * scale, gamma[i], BETA(float, beta[i]));
    }
}

CPU_KERNEL void layernorm_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                      int x_offset, int x_stride, const __global float *gamma, int gamma_offset,
                                      int gamma_stride, const __global float *beta, int beta_offset,
                                      int beta_stride, int rows, int columns, float eps)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        norm_row(y + y_offset + (size_t)n * y_stride, x + x_offset + (size_t)n * x_stride, gamma + gamma_offset,
                 beta + beta_offset, columns, eps);
    }
}

GPU_KERNEL void layernorm_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                      int x_offset, int x_stride, const __global float *gamma, int gamma_offset,
                                      int gamma_stride, const __global float *beta, int beta_offset,
                                      int beta_stride, int rows, int columns, float eps)
{
    __local float shared[GROUP];
    int first = (int)get_local_id(0) * 4;
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float4 squares = 0.0f;
#if NORM == 1
        float mean = 0.0f;
#else
        float4 sums = 0.0f;
        for (int c = first; c < columns; c += QUADS) {
            sums += load_quad(in + c, columns - c, 0.0f);
        }
        float mean = group_sum(shared, sum4(sums)) / (float)columns;
#endif
        for (int c = first; c < columns; c += QUADS) {
            float4 p = load_quad(in + c, columns - c, mean) - mean; /* what is not there counts nothing */
            squares = fma(p, p, squares);
        }
        float scale = scale_of(group_sum(shared, sum4(squares)), columns, eps);
        for (int c = first; c < columns; c += QUADS) {
            int left = columns - c;
            float4 normal = (load_quad(in + c, left, 0.0f) - mean) * scale;
            float4 factor = load_quad(gamma + gamma_offset + c, left, 0.0f);
            store_quad(fma(normal, factor, BETA(float4, load_quad(beta + beta_offset + c, left, 0.0f))), out + c, left);
        }
    }
}
