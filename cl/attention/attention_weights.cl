/* The mean over the first `heads` heads of the probabilities of scaled dot-product attention. For each
 * query row r over the keys j of its sequence:
 *
 *     y[r][j] = 1 / heads * sum_h softmax_j(scale * q[r] . k[j]), 0 for hidden keys and after the last key
 *
 * zeros if every key is hidden. q (query rows, at least heads * key_width), k (key rows, likewise), y (query rows,
 * columns); ranges and hidden as in attention.cl. Keys beyond the columns of y are ignored. Scores are computed
 * twice, for the sum and for the probabilities, instead of being stored. The result of a row depends only on its
 * keys.
 *
 * CPU variant: a work-item computes a row. GPU variant: a group computes a row, one key per work-item. Optional
 * macro: HALF_CACHE (cache_element.cl), for the keys. */
#include "include/cache_element.cl"
#include "math/ops/arguments.h"

#define WEIGHTS_ARGUMENTS                                                                                    \
    __global float *y, const __global float *q, const __global cache_element *k, const __global int *ranges, \
        const __global int *hidden, struct clf__attention_sizes sizes, int key_width, int columns

/* The keys of a row's sequence. */
struct seen {
    int first, count;
    const __global int *hidden;
};

/* Finds row n of sequences * max_queries; returns the row of the query, or -1 if the sequence has fewer
 * queries. */
static inline int find_row(struct seen *seen, int n, const __global int *ranges, const __global int *hidden,
                           struct clf__attention_sizes sizes, int columns)
{
    const __global int *range = ranges + sizes.ranges.offset + n / sizes.max_queries * 4;
    int index = n % sizes.max_queries;
    seen->first = range[2];
    seen->count = min(range[3], columns);
    seen->hidden = hidden ? hidden + sizes.hidden.offset + range[2] : 0;
    return index < range[1] ? range[0] + index : -1;
}

static inline int is_hidden(const struct seen *seen, int key)
{
    return seen->hidden != 0 && seen->hidden[key];
}

/* The maximum score so far, and the sum of exp(score - maximum). */
struct running {
    float largest, total;
};

static inline void add_score(struct running *running, float score)
{
    float largest = fmax(running->largest, score);
    running->total = running->total * exp(running->largest - largest) + exp(score - largest);
    running->largest = largest;
}

/* ---- CPU variant ---- */

static inline float dot_lanes(const __global float *a, const __global cache_element *b, int width)
{
    float16 sum = 0.0f;
    int c = 0;
    for (; c + 16 <= width; c += 16) {
        sum = fma16(vload16(0, a + c), load_cached16(b + c, 16), sum);
    }
    if (c < width) {
        sum = fma16(load_part(a + c, width - c, 0.0f), load_cached16(b + c, width - c), sum);
    }
    return sum16(sum);
}

CPU_KERNEL void attention_weights_cpu(WEIGHTS_ARGUMENTS)
{
    int rows = sizes.sequences * sizes.max_queries;
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        struct seen seen;
        int row = find_row(&seen, n, ranges, hidden, sizes, columns);
        if (row < 0) {
            continue;
        }
        __global float *out = ROW(sizes, y, row);
        for (int j = 0; j < columns; j++) {
            out[j] = 0.0f;
        }
        for (int head = 0; head < sizes.heads; head++) {
            const __global float *query = ROW(sizes, q, row) + head * key_width;
            const __global cache_element *keys = ROW(sizes, k, seen.first) + head * key_width;
            struct running running = {-INFINITY, 0.0f};
            for (int j = 0; j < seen.count; j++) {
                if (!is_hidden(&seen, j)) {
                    add_score(&running,
                              sizes.scale * dot_lanes(query, keys + (size_t)j * sizes.k.stride, key_width));
                }
            }
            float share = 1.0f / (running.total * sizes.heads);
            for (int j = 0; j < seen.count; j++) {
                if (!is_hidden(&seen, j)) {
                    float score =
                        sizes.scale * dot_lanes(query, keys + (size_t)j * sizes.k.stride, key_width);
                    out[j] += exp(score - running.largest) * share;
                }
            }
        }
    }
}

/* ---- GPU variant ---- */

static inline float dot_item(const __global float *a, const __global cache_element *b, int width)
{
    float sum = 0.0f;
    for (int c = 0; c < width; c++) {
        sum = fma(a[c], LOAD_CACHED(b, c), sum);
    }
    return sum;
}

GPU_KERNEL void attention_weights_gpu(WEIGHTS_ARGUMENTS)
{
    __local float parts[GROUP];
    int lane = (int)get_local_id(0), rows = sizes.sequences * sizes.max_queries;
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        struct seen seen;
        int row = find_row(&seen, n, ranges, hidden, sizes, columns);
        if (row < 0) {
            continue;
        }
        __global float *out = ROW(sizes, y, row);
        for (int j = lane; j < columns; j += GROUP) {
            out[j] = 0.0f;
        }
        for (int head = 0; head < sizes.heads; head++) {
            const __global float *query = ROW(sizes, q, row) + head * key_width;
            const __global cache_element *keys = ROW(sizes, k, seen.first) + head * key_width;
            struct running running = {-INFINITY, 0.0f};
            for (int j = lane; j < seen.count; j += GROUP) {
                if (!is_hidden(&seen, j)) {
                    add_score(&running,
                              sizes.scale * dot_item(query, keys + (size_t)j * sizes.k.stride, key_width));
                }
            }
            float largest = group_max(parts, running.largest);
            /* A work-item that has seen no key adds 0, not NaN. */
            float own = running.total == 0.0f ? 0.0f : running.total * exp(running.largest - largest);
            float share = 1.0f / (group_sum(parts, own) * sizes.heads);
            for (int j = lane; j < seen.count; j += GROUP) {
                if (!is_hidden(&seen, j)) {
                    float score = sizes.scale * dot_item(query, keys + (size_t)j * sizes.k.stride, key_width);
                    out[j] += exp(score - largest) * share;
                }
            }
        }
    }
}
