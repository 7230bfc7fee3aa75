/* The decoder's cache of keys and values (see lib/math/ops/cache.h).
 *
 * cache_place: cache[places[r]] = x[r], rows of `width` floats, or elements of cache_element.cl. cache_widen,
 * with HALF_CACHE: x[t] = cache[t], converted to floats, for the keys t of each sequence: ranges[b][2] is the
 * first one, ranges[b][3] the number of keys. Adjacent sequences with the same first key share their keys.
 * cache_follow: next[cache_rows[r]][t] = history[parents[r]][t] for t < positions[r], and cache_rows[r] at t
 * = positions[r].
 *
 * A row whose place, cache row or position is outside the cache is skipped. A work-item (CPU variant) or a group
 * (GPU variant) copies whole rows. Optional macro: HALF_CACHE. */
#include "include/cache_element.cl"

#define PLACE_ARGUMENTS                                                                                                \
    __global cache_element *cache, int cache_offset, int cache_stride, int row_count, const __global float *x,         \
        int x_offset, int x_stride, const __global int *places, int places_offset, int rows, int width

#define WIDEN_ARGUMENTS                                                                                                \
    __global float *x, int x_offset, int x_stride, const __global cache_element *cache, int cache_offset,              \
        int cache_stride, const __global int *ranges, int ranges_offset, int sequences, int max_keys, int width

#define FOLLOW_ARGUMENTS                                                                                               \
    __global int *next, int next_offset, int next_stride, const __global int *history, int history_offset,             \
        int history_stride, int cache_rows_total, int positions_total, const __global int *cache_rows,                 \
        int cache_rows_offset, const __global int *parents, int parents_offset, const __global int *positions,         \
        int positions_offset, int rows

#include "include/follow_row.cl"

CPU_KERNEL void cache_place_cpu(PLACE_ARGUMENTS)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        int place = places[places_offset + row];
        if (!inside(place, row_count)) {
            continue;
        }
        store_cached_row(cache + cache_offset + (size_t)place * cache_stride, x + x_offset + (size_t)row * x_stride, width);
    }
}

GPU_KERNEL void cache_place_gpu(PLACE_ARGUMENTS)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        int place = places[places_offset + row];
        if (!inside(place, row_count)) {
            continue;
        }
        const __global float *from = x + x_offset + (size_t)row * x_stride;
        __global cache_element *to = cache + cache_offset + (size_t)place * cache_stride;
        for (int c = (int)get_local_id(0) * 4; c < width; c += QUADS) {
            store_cached_quad(load_quad(from + c, width - c, 0.0f), to + c, width - c);
        }
    }
}

#ifdef HALF_CACHE
/* Returns the row of key n % max_keys of sequence n / max_keys; -1 if there is none, or if the previous
 * sequence shares it. */
static inline int row_of_key(int n, int max_keys, const __global int *ranges)
{
    const __global int *range = ranges + n / max_keys * 4;
    int key = n % max_keys, is_shared = n >= max_keys && range[2 - 4] == range[2] && key < range[3 - 4];
    return key < range[3] && !is_shared ? range[2] + key : -1;
}

CPU_KERNEL void cache_widen_cpu(WIDEN_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < sequences * max_keys; n += (int)get_num_groups(0)) {
        int row = row_of_key(n, max_keys, ranges + ranges_offset);
        if (row < 0) {
            continue;
        }
        const __global cache_element *from = cache + cache_offset + (size_t)row * cache_stride;
        __global float *to = x + x_offset + (size_t)row * x_stride;
        int c = 0;
        for (; c + VECTOR_LANES <= width; c += VECTOR_LANES) {
            vstorev(vload_halfv(0, from + c), 0, to + c);
        }
        for (; c < width; c++) {
            to[c] = LOAD_CACHED(from, c);
        }
    }
}

GPU_KERNEL void cache_widen_gpu(WIDEN_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < sequences * max_keys; n += (int)get_num_groups(0)) {
        int row = row_of_key(n, max_keys, ranges + ranges_offset);
        for (int c = (int)get_local_id(0); row >= 0 && c < width; c += GROUP) {
            x[x_offset + (size_t)row * x_stride + c] =
                LOAD_CACHED(cache, cache_offset + (size_t)row * cache_stride + c);
        }
    }
}
#endif

CPU_KERNEL void cache_follow_cpu(FOLLOW_ARGUMENTS)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        follow_row(next + next_offset, next_stride, history + history_offset, history_stride, cache_rows_total,
                   positions_total, cache_rows[cache_rows_offset + row], parents[parents_offset + row],
                   positions[positions_offset + row]);
    }
}

GPU_KERNEL void cache_follow_gpu(FOLLOW_ARGUMENTS)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        int cache_row = cache_rows[cache_rows_offset + row], parent = parents[parents_offset + row];
        int position = positions[positions_offset + row];
        if (!inside(cache_row, cache_rows_total) || !inside(parent, cache_rows_total) ||
            !inside(position, positions_total)) {
            continue;
        }
        for (int t = (int)get_local_id(0); t <= position; t += GROUP) {
            next[next_offset + (size_t)cache_row * next_stride + t] =
                t < position ? history[history_offset + (size_t)parent * history_stride + t] : cache_row;
        }
    }
}
