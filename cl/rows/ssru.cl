/* The simpler simple recurrent unit (Kim et al. 2019, see lib/math/ops/ssru.h), element by element: `projected`
 * (N, 2 D) holds g, then z.
 *
 *     f = 1 / (1 + exp(-g));  c = f c' + (1 - f) z;  y = max(c, 0) + residual;  y, residual (N, D); y may be residual
 *
 * ssru_step: c' is row parents[r] of `before`, zeros at position 0; c is stored in row cache_rows[r] of
 * `next`. An invalid parent counts as zeros; an invalid cache row stores nothing. A group computes whole
 * rows.
 *
 * ssru_forward: sequence b has rows ranges[b][0] .. ranges[b][0] + ranges[b][1] - 1 and starts from zeros. CPU
 * variant: a group computes whole sequences, 16 columns at a time; GPU variant: a group computes GROUP columns of a
 * sequence, one per work-item.
 *
 * No macros. */
#include "include/states.cl"

static inline float after(float g, float z, float c)
{
    float f = 1.0f / (1.0f + exp(-g));
    return fma(f, c - z, z);
}

#define after16(g, z, c) (wide_after(WIDE(g), WIDE(z), WIDE(c)).v)
static inline struct wide wide_after(struct wide g, struct wide z, struct wide c)
{
    float16 f = 1.0f / (1.0f + exp16(-g.v));
    return WIDE(fma16(f, c.v - z.v, z.v));
}

/* Like fmax(c, 0), but keeps NaN. */
static inline float positive(float c)
{
    return c < 0.0f ? 0.0f : c;
}

#define positive16(c) (wide_positive(WIDE(c)).v)
static inline struct wide wide_positive(struct wide c)
{
    return WIDE(c.v < (float16)(0.0f) ? (float16)(0.0f) : c.v);
}

#define STEP_ARGUMENTS                                                                                                 \
    __global float *y, int y_offset, int y_stride, const __global float *projected, int projected_offset,              \
        int projected_stride, const __global float *residual, int residual_offset, int residual_stride,                \
        __global float *next, int next_offset, int next_stride, const __global float *before, int before_offset,       \
        int before_stride, const __global int *cache_rows, int cache_rows_offset, int cache_rows_stride,               \
        const __global int *parents, int parents_offset, int parents_stride, const __global int *positions,            \
        int positions_offset, int positions_stride, int rows, int columns, int cache_rows_total

CPU_KERNEL void ssru_step_cpu(STEP_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        int parent = positions[positions_offset + r] > 0 ? parents[parents_offset + r] : -1;
        const struct states states = find_states(before + before_offset, before_stride, parent, next + next_offset,
                                                 next_stride, cache_rows[cache_rows_offset + r], cache_rows_total);
        const __global float *g = projected + projected_offset + (size_t)r * projected_stride;
        const __global float *added = residual + residual_offset + (size_t)r * residual_stride;
        __global float *out = y + y_offset + (size_t)r * y_stride;
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 c = states.from ? vload16(0, states.from + k) : (float16)(0.0f);
            c = after16(vload16(0, g + k), vload16(0, g + columns + k), c);
            if (states.to) {
                vstore16(c, 0, states.to + k);
            }
            vstore16(positive16(c) + vload16(0, added + k), 0, out + k);
        }
        for (; k < columns; k++) {
            float c = after(g[k], g[columns + k], states.from ? states.from[k] : 0.0f);
            if (states.to) {
                states.to[k] = c;
            }
            out[k] = positive(c) + added[k];
        }
    }
}

GPU_KERNEL void ssru_step_gpu(STEP_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        int parent = positions[positions_offset + r] > 0 ? parents[parents_offset + r] : -1;
        const struct states states = find_states(before + before_offset, before_stride, parent, next + next_offset,
                                                 next_stride, cache_rows[cache_rows_offset + r], cache_rows_total);
        const __global float *g = projected + projected_offset + (size_t)r * projected_stride;
        const __global float *added = residual + residual_offset + (size_t)r * residual_stride;
        __global float *out = y + y_offset + (size_t)r * y_stride;
        for (int k = (int)get_local_id(0); k < columns; k += GROUP) {
            float c = after(g[k], g[columns + k], states.from ? states.from[k] : 0.0f);
            if (states.to) {
                states.to[k] = c;
            }
            out[k] = positive(c) + added[k];
        }
    }
}

#define FORWARD_ARGUMENTS                                                                                              \
    __global float *y, int y_offset, int y_stride, const __global float *projected, int projected_offset,              \
        int projected_stride, const __global float *residual, int residual_offset, int residual_stride,                \
        const __global int *ranges, int ranges_offset, int ranges_stride, int sequences, int columns, int rows

CPU_KERNEL void ssru_forward_cpu(FORWARD_ARGUMENTS)
{
    for (int b = (int)get_group_id(0); b < sequences; b += (int)get_num_groups(0)) {
        const struct sequence all = find_sequence(ranges + ranges_offset + (size_t)b * ranges_stride, rows);
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 c = (float16)(0.0f);
            for (int n = all.first; n < all.end; n++) {
                const __global float *g = projected + projected_offset + (size_t)n * projected_stride + k;
                c = after16(vload16(0, g), vload16(0, g + columns), c);
                float16 added = vload16(0, residual + residual_offset + (size_t)n * residual_stride + k);
                vstore16(positive16(c) + added, 0, y + y_offset + (size_t)n * y_stride + k);
            }
        }
        for (; k < columns; k++) {
            float c = 0.0f;
            for (int n = all.first; n < all.end; n++) {
                const __global float *g = projected + projected_offset + (size_t)n * projected_stride + k;
                c = after(g[0], g[columns], c);
                y[y_offset + (size_t)n * y_stride + k] =
                    positive(c) + residual[residual_offset + (size_t)n * residual_stride + k];
            }
        }
    }
}

GPU_KERNEL void ssru_forward_gpu(FORWARD_ARGUMENTS)
{
    int k = (int)(get_group_id(1) * GROUP + get_local_id(0));
    for (int b = (int)get_group_id(0); b < sequences && k < columns; b += (int)get_num_groups(0)) {
        const struct sequence all = find_sequence(ranges + ranges_offset + (size_t)b * ranges_stride, rows);
        float c = 0.0f;
        for (int n = all.first; n < all.end; n++) {
            const __global float *g = projected + projected_offset + (size_t)n * projected_stride + k;
            c = after(g[0], g[columns], c);
            y[y_offset + (size_t)n * y_stride + k] =
                positive(c) + residual[residual_offset + (size_t)n * residual_stride + k];
        }
    }
}
