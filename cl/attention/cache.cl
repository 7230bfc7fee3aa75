/* The decoder's memory (see lib/ops/cache.h).
 *
 * cache_place: cache[places[r]] = x[r], rows of `width` floats.
 * cache_follow: next[cache_rows[r]][t] = history[parents[r]][t] for t < positions[r], and cache_rows[r] at t =
 * positions[r].
 *
 * A row whose place, cache row or position lies outside the cache is skipped. CPU form: a work-item takes a row at a
 * time, GPU form: a group does. No macros. */
#define PLACE_ARGUMENTS                                                                                                \
    __global float *cache, int cache_offset, int cache_stride, int row_count, const __global float *x, int x_offset,   \
        int x_stride, const __global int *places, int places_offset, int rows, int width

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
        const __global float *from = x + x_offset + (size_t)row * x_stride;
        __global float *to = cache + cache_offset + (size_t)place * cache_stride;
        int c = 0;
        for (; c + 16 <= width; c += 16) {
            vstore16(vload16(0, from + c), 0, to + c);
        }
        for (; c < width; c++) {
            to[c] = from[c];
        }
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
        __global float *to = cache + cache_offset + (size_t)place * cache_stride;
        for (int c = (int)get_local_id(0) * 4; c < width; c += QUADS) {
            store_quad(load_quad(from + c, width - c, 0.0f), to + c, width - c);
        }
    }
}

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
