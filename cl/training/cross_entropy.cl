/* The loss of logits x (R, V) against labels (1, R), and its gradient dx (R, V), which may be x, or null to
 * compute only the losses. With a row's target distribution q (1 - smoothing for the label, 0 for the hidden
 * class, share for every other), d = x - max and S = the sum of exp(d):
 *
 *   losses[r] = { log S * sum q - sum of q d, log S - d[label] }, dx = scale * (exp(d) / S * sum q - q)
 *
 * A row with a label outside the columns is ignored: its losses and gradient are 0. A row of only -inf has
 * infinite losses and a softmax of zeros.
 *
 * CPU variant: a group computes whole rows. The first pass finds the largest logit; the second, with the row in
 * the cache, stores exp(d) in dx; the third computes the gradient. GPU variant: a group computes a row; work-item
 * i computes columns 4i .. 4i + 3 of every QUADS columns, and computes exp(d) twice. No macros. */

#include "include/exp2.cl"

#define ARGUMENTS                                                                                                      \
    __global float *losses, int losses_offset, int losses_stride, __global float *dx, int dx_offset, int dx_stride,    \
        const __global float *x, int x_offset, int x_stride, const __global int *labels, int labels_offset,            \
        int labels_stride, int rows, int columns, float smoothing, float share, int hidden, float scale

/* Sums over a row of logits, without its label and its hidden class. */
struct row_sums {
    float exps;  /* sum of exp(d) over all classes */
    float rests; /* sum of d over the classes whose probability is `share` */
};

static float offset_of(float largest)
{
    return largest == -INFINITY ? 0.0f : largest; /* the difference would be NaN */
}

/* Returns the sum of q. */
static float wanted_sum(int columns, int label, int hidden, float smoothing, float share)
{
    int is_hidden = hidden >= 0 && hidden < columns && hidden != label;
    return fma(share, (float)(columns - 1 - is_hidden), 1.0f - smoothing);
}

static void store_losses(__global float *losses, struct row_sums sums, float label_d, float wanted, float smoothing,
                         float share)
{
    float log_sum = sums.exps == 0.0f ? 0.0f : log(sums.exps);
    float rest = share == 0.0f ? 0.0f : share * sums.rests; /* which may be -inf */
    losses[0] = fma(log_sum, wanted, -fma(1.0f - smoothing, label_d, rest));
    losses[1] = log_sum - label_d;
}

static float row_max(const __global float *x, int columns)
{
    float16 a = (float16)(-INFINITY), b = a, e = a, f = a;
    int c = 0;
    for (; c + 64 <= columns; c += 64) {
        a = fmax16(a, vload16(0, x + c));
        b = fmax16(b, vload16(1, x + c));
        e = fmax16(e, vload16(2, x + c));
        f = fmax16(f, vload16(3, x + c));
    }
    for (; c < columns; c += 16) {
        a = fmax16(a, columns - c < 16 ? load_part(x + c, columns - c, -INFINITY) : vload16(0, x + c));
    }
    return max16(fmax16(fmax16(a, b), fmax16(e, f)));
}

#define LOG2_E 1.44269504f
#define LANES  (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* Stores exp(d) in out, if out is not null. */
static struct row_sums row_exp(__global float *out, const __global float *x, float largest, int columns, int label,
                               int hidden)
{
    float16 exps = (float16)(0.0f), rests = exps;
    int16 at = LANES;
    int c = 0;
    for (; c + 16 <= columns; c += 16, at += 16) {
        float16 d = vload16(0, x + c) - largest, e = exp2_16(d * LOG2_E);
        if (out) {
            vstore16(e, 0, out + c);
        }
        exps += e;
        rests += (at == label | at == hidden) ? (float16)(0.0f) : d;
    }
    int left = columns - c;
    if (left > 0) {
        float16 d = load_part(x + c, left, -INFINITY) - largest, e = exp2_16(d * LOG2_E);
        if (out) {
            store_part(e, out + c, left);
        }
        exps += e;
        rests += (at == label | at == hidden | at >= columns) ? (float16)(0.0f) : d;
    }
    struct row_sums sums = {sum16(exps), sum16(rests)};
    return sums;
}

/* out = factor * out - less */
static void row_gradient(__global float *out, float factor, float less, int columns)
{
    int c = 0;
    for (; c + 16 <= columns; c += 16) {
        vstore16(fma16(vload16(0, out + c), (float16)(factor), (float16)(-less)), 0, out + c);
    }
    for (; c < columns; c++) {
        out[c] = fma(out[c], factor, -less);
    }
}

CPU_KERNEL void cross_entropy_cpu(ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        __global float *loss = losses + losses_offset + (size_t)r * losses_stride;
        __global float *out = dx ? dx + dx_offset + (size_t)r * dx_stride : 0;
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        int label = labels[labels_offset + r];
        if (label < 0 || label >= columns) {
            loss[0] = loss[1] = 0.0f;
            for (int c = 0; out && c < columns; c++) {
                out[c] = 0.0f;
            }
            continue;
        }
        float largest = offset_of(row_max(in, columns));
        float label_d = in[label] - largest, wanted = wanted_sum(columns, label, hidden, smoothing, share);
        struct row_sums sums = row_exp(out, in, largest, columns, label, hidden);
        store_losses(loss, sums, label_d, wanted, smoothing, share);
        if (out) {
            float factor = sums.exps == 0.0f ? 0.0f : scale * wanted / sums.exps;
            float label_exp = out[label], hidden_exp = hidden >= 0 && hidden < columns ? out[hidden] : 0.0f;
            row_gradient(out, factor, scale * share, columns);
            if (hidden >= 0 && hidden < columns) {
                out[hidden] = hidden_exp * factor;
            }
            out[label] = fma(label_exp, factor, -scale * (1.0f - smoothing));
        }
    }
}

GPU_KERNEL void cross_entropy_gpu(ARGUMENTS)
{
    __local float shared[GROUP];
    int first = (int)get_local_id(0) * 4;
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        __global float *loss = losses + losses_offset + (size_t)r * losses_stride;
        __global float *out = dx ? dx + dx_offset + (size_t)r * dx_stride : 0;
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        int label = labels[labels_offset + r];
        int counts = label >= 0 && label < columns;
        float4 most = -INFINITY, exps = 0.0f, rests = 0.0f;
        for (int c = first; c < columns; c += QUADS) {
            most = fmax(most, load_quad(in + c, columns - c, -INFINITY));
        }
        float largest = offset_of(group_max(shared, max4(most)));
        float label_d = counts ? in[label] - largest : 0.0f;
        barrier(CLK_GLOBAL_MEM_FENCE); /* before another work-item writes to out, which may alias in */
        for (int c = first; c < columns; c += QUADS) {
            int4 at = c + (int4)(0, 1, 2, 3);
            float4 d = load_quad(in + c, columns - c, -INFINITY) - largest;
            exps += exp(d);
            rests += select(d, (float4)(0.0f), at == label | at == hidden | at >= columns);
        }
        struct row_sums sums = {group_sum(shared, sum4(exps)), 0.0f};
        sums.rests = group_sum(shared, sum4(rests));
        float wanted = wanted_sum(columns, label, hidden, smoothing, share);
        if (first == 0 && counts) {
            store_losses(loss, sums, label_d, wanted, smoothing, share);
        } else if (first == 0) {
            loss[0] = loss[1] = 0.0f;
        }
        float factor = sums.exps == 0.0f ? 0.0f : scale * wanted / sums.exps;
        for (int c = first; out && c < columns; c += QUADS) {
            int4 at = c + (int4)(0, 1, 2, 3);
            float4 e = exp(load_quad(in + c, columns - c, -INFINITY) - largest);
            float4 less = select((float4)(scale * share), (float4)(0.0f), at == hidden);
            less = select(less, (float4)(scale * (1.0f - smoothing)), at == label);
            store_quad(counts ? fma(e, (float4)(factor), -less) : (float4)(0.0f), out + c, columns - c);
        }
    }
}
