/* A row of the table of the decoder's cache (see lib/math/ops/cache.h). Include file, not a program. */

/* Returns 1 if 0 <= value < bound. */
static inline int inside(int value, int bound)
{
    return value >= 0 && value < bound;
}

/* next[cache_row][t] = history[parent][t] for t < position, and cache_row at t = position. Rows and
 * positions outside the table are skipped. For the CPU variant. */
static inline void follow_row(__global int *next, int next_stride, const __global int *history, int history_stride,
                              int cache_rows_total, int positions_total, int cache_row, int parent, int position)
{
    if (!inside(cache_row, cache_rows_total) || !inside(parent, cache_rows_total) || !inside(position, positions_total)) {
        return;
    }
    const __global int *from = history + (size_t)parent * history_stride;
    __global int *to = next + (size_t)cache_row * next_stride;
    int t = 0;
    for (; t + 16 <= position; t += 16) {
        vstore16(vload16(0, from + t), 0, to + t);
    }
    for (; t < position; t++) {
        to[t] = from[t];
    }
    to[position] = cache_row;
}
