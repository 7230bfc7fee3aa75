/* Average attention (Zhang et al. 2018, see lib/math/ops/average.h), element by element: the running mean of a
 * sequence's rows, and the gates that choose between a row and its mean.
 *
 *     m = (t m' + x) / (t + 1);  y = x / (1 + exp(-g)) + h / (1 + exp(-f)) + residual
 *
 * average_step: m' is row parents[r] of `before`, zeros at position 0, and t = positions[r]; m (R, D) is
 * also stored in row cache_rows[r] of `next`. An invalid parent counts as zeros; an invalid cache row
 * stores nothing. A group computes whole rows.
 *
 * average_forward: sequence b has rows ranges[b][0] .. ranges[b][0] + ranges[b][1] - 1 and starts from zeros. CPU
 * variant: a group computes whole sequences, 16 columns at a time; GPU variant: a group computes GROUP columns of a
 * sequence, one per work-item.
 *
 * average_gate: `gates` (N, 2 D) holds g, then f; x, h, residual, y (N, D); y may be any of these. A group
 * computes whole rows.
 *
 * No macros. */
#include "include/states.cl"

static inline float with(float m, float x, float t)
{
    return fma(t, m, x) / (t + 1.0f);
}

#define with16(m, x, t) (wide_with(WIDE(m), WIDE(x), t).v)
static inline struct wide wide_with(struct wide m, struct wide x, float t)
{
    return WIDE(fma16((float16)(t), m.v, x.v) / (float16)(t + 1.0f));
}

#define STEP_ARGUMENTS                                                                                       \
    __global float *m, int m_offset, int m_stride, const __global float *x, int x_offset, int x_stride,      \
        __global float *next, int next_offset, int next_stride, const __global float *before,                \
        int before_offset, int before_stride, const __global int *cache_rows, int cache_rows_offset,         \
        int cache_rows_stride, const __global int *parents, int parents_offset, int parents_stride,          \
        const __global int *positions, int positions_offset, int positions_stride, int rows, int columns,    \
        int cache_rows_total

CPU_KERNEL void average_step_cpu(STEP_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        int position = max(positions[positions_offset + r], 0), parent = position > 0 ? parents[parents_offset + r] : -1;
        const struct states means = find_states(before + before_offset, before_stride, parent, next + next_offset,
                                                next_stride, cache_rows[cache_rows_offset + r], cache_rows_total);
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        __global float *out = m + m_offset + (size_t)r * m_stride;
        float t = (float)position;
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 mean = with16(means.from ? vload16(0, means.from + k) : (float16)(0.0f), vload16(0, in + k), t);
            if (means.to) {
                vstore16(mean, 0, means.to + k);
            }
            vstore16(mean, 0, out + k);
        }
        for (; k < columns; k++) {
            float mean = with(means.from ? means.from[k] : 0.0f, in[k], t);
            if (means.to) {
                means.to[k] = mean;
            }
            out[k] = mean;
        }
    }
}

GPU_KERNEL void average_step_gpu(STEP_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        int position = max(positions[positions_offset + r], 0), parent = position > 0 ? parents[parents_offset + r] : -1;
        const struct states means = find_states(before + before_offset, before_stride, parent, next + next_offset,
                                                next_stride, cache_rows[cache_rows_offset + r], cache_rows_total);
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        __global float *out = m + m_offset + (size_t)r * m_stride;
        float t = (float)position;
        for (int k = (int)get_local_id(0); k < columns; k += GROUP) {
            float mean = with(means.from ? means.from[k] : 0.0f, in[k], t);
            if (means.to) {
                means.to[k] = mean;
            }
            out[k] = mean;
        }
    }
}

#define FORWARD_ARGUMENTS                                                                                    \
    __global float *m, int m_offset, int m_stride, const __global float *x, int x_offset, int x_stride,      \
        const __global int *ranges, int ranges_offset, int ranges_stride, int sequences, int columns,        \
        int rows

CPU_KERNEL void average_forward_cpu(FORWARD_ARGUMENTS)
{
    for (int b = (int)get_group_id(0); b < sequences; b += (int)get_num_groups(0)) {
        const struct sequence all = find_sequence(ranges + ranges_offset + (size_t)b * ranges_stride, rows);
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 mean = (float16)(0.0f);
            for (int n = all.first; n < all.end; n++) {
                mean = with16(mean, vload16(0, x + x_offset + (size_t)n * x_stride + k), (float)(n - all.first));
                vstore16(mean, 0, m + m_offset + (size_t)n * m_stride + k);
            }
        }
        for (; k < columns; k++) {
            float mean = 0.0f;
            for (int n = all.first; n < all.end; n++) {
                mean = with(mean, x[x_offset + (size_t)n * x_stride + k], (float)(n - all.first));
                m[m_offset + (size_t)n * m_stride + k] = mean;
            }
        }
    }
}

GPU_KERNEL void average_forward_gpu(FORWARD_ARGUMENTS)
{
    int k = (int)(get_group_id(1) * GROUP + get_local_id(0));
    for (int b = (int)get_group_id(0); b < sequences && k < columns; b += (int)get_num_groups(0)) {
        const struct sequence all = find_sequence(ranges + ranges_offset + (size_t)b * ranges_stride, rows);
        float mean = 0.0f;
        for (int n = all.first; n < all.end; n++) {
            mean = with(mean, x[x_offset + (size_t)n * x_stride + k], (float)(n - all.first));
            m[m_offset + (size_t)n * m_stride + k] = mean;
        }
    }
}

static inline float gated(float g, float x)
{
    return x / (1.0f + exp(-g));
}

#define gated16(g, x) (wide_gated(WIDE(g), WIDE(x)).v)
static inline struct wide wide_gated(struct wide g, struct wide x)
{
    return WIDE(x.v / (1.0f + exp16(-g.v)));
}

#define GATE_ARGUMENTS                                                                                       \
    __global float *y, int y_offset, int y_stride, const __global float *x, int x_offset, int x_stride,      \
        const __global float *h, int h_offset, int h_stride, const __global float *gates, int gates_offset,  \
        int gates_stride, const __global float *residual, int residual_offset, int residual_stride,          \
        int rows, int columns

CPU_KERNEL void average_gate_cpu(GATE_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        const __global float *own = x + x_offset + (size_t)r * x_stride;
        const __global float *mean = h + h_offset + (size_t)r * h_stride;
        const __global float *g = gates + gates_offset + (size_t)r * gates_stride;
        const __global float *added = residual + residual_offset + (size_t)r * residual_stride;
        __global float *out = y + y_offset + (size_t)r * y_stride;
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 sum = gated16(vload16(0, g + k), vload16(0, own + k)) +
                          gated16(vload16(0, g + columns + k), vload16(0, mean + k));
            vstore16(sum + vload16(0, added + k), 0, out + k);
        }
        for (; k < columns; k++) {
            out[k] = gated(g[k], own[k]) + gated(g[columns + k], mean[k]) + added[k];
        }
    }
}

GPU_KERNEL void average_gate_gpu(GATE_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        const __global float *own = x + x_offset + (size_t)r * x_stride;
        const __global float *mean = h + h_offset + (size_t)r * h_stride;
        const __global float *g = gates + gates_offset + (size_t)r * gates_stride;
        const __global float *added = residual + residual_offset + (size_t)r * residual_stride;
        __global float *out = y + y_offset + (size_t)r * y_stride;
        for (int k = (int)get_local_id(0); k < columns; k += GROUP) {
            out[k] = gated(g[k], own[k]) + gated(g[columns + k], mean[k]) + added[k];
        }
    }
}
