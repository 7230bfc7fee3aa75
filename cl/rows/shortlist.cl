/* Logits of selected words (lib/math/ops/shortlist.h): logits (R, C), x (R, D), weight (V, D) row-major, bias
 * (V) or null.
 *
 *     logits[r][j] = scale * (x[r] . weight[v]) + bias[v],  v = ids[starts[r] + j]  for j < counts[r];  else -inf
 *
 * A v outside the weight also gives -inf. CPU variant: a group computes whole rows. GPU variant: a group
 * computes GROUP words of a row, one per work-item; neighbouring words share no data, but each reads whole
 * cache lines.
 *
 * No macros. */

#define LOGITS_ARGUMENTS                                                                                               \
    __global float *logits, int logits_offset, int logits_stride, const __global float *x, int x_offset, int x_stride, \
        const __global float *weight, int weight_offset, int weight_stride, const __global int *ids, int ids_offset,   \
        const __global int *starts, int starts_offset, const __global int *counts, int counts_offset,                  \
        const __global float *bias, int words, int listed, int rows, int columns, int inputs, float scale

/* Returns word j of a row, whose `count` of the `listed` ids begin at `start`, or -1. */
static inline int find_word(const __global int *ids, int listed, int start, int count, int j, int words)
{
    int place = start + j;
    int word = j < count && place >= 0 && place < listed ? ids[place] : -1;
    return word < words ? word : -1;
}

/* The words at positions of shortlists:
 *
 *     positions[r][j] = ids[starts[r] + p],  p = positions[r][j]  for 0 <= p < counts[r];  else -1
 *
 * positions (R, C). CPU variant: one group processes all elements. GPU variant: one work-item per element.
 *
 * No macros. */
#define WORDS_ARGUMENTS                                                                                                \
    __global int *positions, int positions_offset, int positions_stride, const __global int *ids, int ids_offset,      \
        const __global int *starts, int starts_offset, const __global int *counts, int counts_offset, int listed,      \
        int rows, int columns

static inline void name_position(__global int *position, const __global int *ids, int listed, int start, int count)
{
    int p = *position;
    *position = p < 0 || p >= count ? -1 : find_word(ids, listed, start, count, p, 0x7fffffff);
}

CPU_KERNEL void shortlist_words_cpu(WORDS_ARGUMENTS)
{
    for (int i = 0; i < rows * columns; i++) {
        int r = i / columns;
        name_position(positions + positions_offset + (size_t)r * positions_stride + i % columns, ids + ids_offset, listed,
                      starts[starts_offset + r], counts[counts_offset + r]);
    }
}

GPU_KERNEL void shortlist_words_gpu(WORDS_ARGUMENTS)
{
    int i = (int)get_global_id(0), r = i / columns;
    if (r < rows) {
        name_position(positions + positions_offset + (size_t)r * positions_stride + i % columns, ids + ids_offset, listed,
                      starts[starts_offset + r], counts[counts_offset + r]);
    }
}

CPU_KERNEL void shortlist_logits_cpu(LOGITS_ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        __global float *out = logits + logits_offset + (size_t)r * logits_stride;
        int start = starts[starts_offset + r], count = counts[counts_offset + r];
        for (int j = 0; j < columns; j++) {
            int word = find_word(ids + ids_offset, listed, start, count, j, words);
            if (word < 0) {
                out[j] = -INFINITY;
                continue;
            }
            const __global float *w = weight + weight_offset + (size_t)word * weight_stride;
            float16 a = (float16)(0.0f), b = a;
            int k = 0;
            for (; k + 32 <= inputs; k += 32) {
                a = fma16(vload16(0, in + k), vload16(0, w + k), a);
                b = fma16(vload16(0, in + k + 16), vload16(0, w + k + 16), b);
            }
            for (; k + 16 <= inputs; k += 16) {
                a = fma16(vload16(0, in + k), vload16(0, w + k), a);
            }
            if (k < inputs) {
                b = fma16(load_part(in + k, inputs - k, 0.0f), load_part(w + k, inputs - k, 0.0f), b);
            }
            float product = scale * sum16(a + b);
            out[j] = bias ? product + bias[word] : product;
        }
    }
}

GPU_KERNEL void shortlist_logits_gpu(LOGITS_ARGUMENTS)
{
    int j = (int)(get_group_id(1) * GROUP + get_local_id(0));
    for (int r = (int)get_group_id(0); r < rows && j < columns; r += (int)get_num_groups(0)) {
        const __global float *in = x + x_offset + (size_t)r * x_stride;
        int start = starts[starts_offset + r], count = counts[counts_offset + r];
        int word = find_word(ids + ids_offset, listed, start, count, j, words);
        const __global float *w = weight + weight_offset + (size_t)max(word, 0) * weight_stride;
        float4 sum = (float4)(0.0f);
        for (int k = 0; k < inputs && word >= 0; k += 4) {
            sum = fma(load_quad(in + k, inputs - k, 0.0f), load_quad(w + k, inputs - k, 0.0f), sum);
        }
        float product = scale * sum4(sum);
        product = bias ? product + bias[max(word, 0)] : product;
        logits[logits_offset + (size_t)r * logits_stride + j] = word >= 0 ? product : -INFINITY;
    }
}
