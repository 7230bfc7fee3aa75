/* Scaled dot-product attention for one or few queries per sequence (a decoding step). For each query row r
 * and head h, over the keys t that r may see:
 *
 *     s[t] = scale * q[r] . k[t] + masks
 *     y[r] = sum_t exp(s[t] - m) v[t] / sum_t exp(s[t] - m), m = max_t s[t]; zeros if every s[t] is -inf
 *
 * attention_step: stores the key and value of row r in row cache_rows[r] * positions_total + positions[r] of the
 * cache, unless own_k is null because they are already stored; key t is then row table[cache_rows[r]][t] *
 * positions_total + t of the cache, t = 0 .. positions[r], in tiles of 64 starting at the first key, and parts of
 * 256. A row whose cache row or position is outside the cache gets zeros. attention_rows: the queries, keys and masks
 * of a ragged batch as in attention.cl, in the same tiles and parts. The result of a row depends only on its keys; a
 * masked value matters only if it is not finite.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); optionally HALF_CACHE (cache_element.cl), for the cache or the
 * keys and values of the batch; in the GPU variant WAYS and optionally IS_ALIGNED (attention_step_gpu.cl). */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_step.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE 64 /* keys between two updates of the running maximum */

/* own_k and own_v: one row per row of q, or both null; keys beyond a row's position are never read. */
#define STEP_ARGUMENTS                                                                                                 \
    __global result_element *y, const __global float *q, const __global float *own_k, const __global float *own_v,              \
        __global cache_element *k, __global cache_element *v, const __global int *table, const __global int *cache_rows, \
        const __global int *positions, const __global float *relative, struct clf__attention_step_sizes sizes

#include "include/attention_blocks.cl"
#include "include/cache_element.cl"

/* Returns the number of keys that row r sees: 0 if its cache row or position is outside the cache. */
static inline int count_keys(int cache_row, int position, int cache_rows_total, int positions_total)
{
    int is_inside = cache_row >= 0 && cache_row < cache_rows_total && position >= 0 && position < positions_total;
    return is_inside ? position + 1 : 0;
}

/* Returns the bias of key t for a query at position `query`; `bias` is the head's row of the table. */
static inline float relative_bias(const __global float *bias, int reach, int t, int query)
{
    return bias[clamp(t - query + reach, 0, 2 * reach)];
}

/* ---- CPU variant: lanes are columns of a head. A work-item processes a row of the cache, or the queries of
 * a sequence, for several adjacent heads, because sequential reads of their adjacent keys are fastest. Keys
 * are read unpacked, while attention.cl packs them for many queries. ---- */

#include "include/attention_few.cl"

static inline void finish(__global result_element *y, const struct running *running)
{
    float share = running->total == 0.0f ? 0.0f : 1.0f / running->total;
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        store_result16(running->sums[c] * share, y + c * LANES, min(VALUE_WIDTH - c * LANES, LANES));
    }
}

/* Returns the number of tasks of `together` heads each. */
static inline int count_head_groups(int heads, int together)
{
    return (heads - 1) / together + 1;
}

/* Returns the number of heads per task for `all` rows or other units: as many as the states allow, unless a group
 * would then have more work than with one head per task. Also used by decoder_layer.cl; launches with one group
 * per head use one. */
static inline int heads_together(int all, int heads, int queries)
{
    int groups = (int)get_num_groups(0), least = (all * heads - 1) / groups + 1;
    int together = clamp(STEP_STATES / queries, 1, heads);
    while (together > 1 && ((all * count_head_groups(heads, together) - 1) / groups + 1) * together > least) {
        together--;
    }
    return together;
}

/* Computes one row and `together` heads. */
static inline void step_task(struct step_work *work, int task, int together, STEP_ARGUMENTS)
{
    int head_groups = count_head_groups(sizes.heads, together), row = task / head_groups;
    int first_head = task % head_groups * together, heads = min(together, sizes.heads - first_head);
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    int key = first_head * KEY_WIDTH, value = first_head * VALUE_WIDTH;
    const struct cached cached = {ROW(sizes, k, 0) + key, ROW(sizes, v, 0) + value, sizes.k.stride, sizes.v.stride};
    const __global int *lookup = ROW(sizes, table, cache_row);
    if (keys > 0 && own_k) {
        size_t own = (size_t)cache_row * sizes.positions_total + position;
        store_cached_row(ROW(sizes, k, own) + key, ROW(sizes, own_k, row) + key, heads * KEY_WIDTH);
        store_cached_row(ROW(sizes, v, own) + value, ROW(sizes, own_v, row) + value, heads * VALUE_WIDTH);
    }
    for (int h = 0; h < heads; h++) {
        load_step_query(work->queries[h], ROW(sizes, q, row) + key + h * KEY_WIDTH, sizes.scale * M_LOG2E_F);
        begin(&work->running[h]);
    }
    for (int tile = 0; tile < keys; tile += TILE) {
        int count = min(keys - tile, TILE);
        work->row_count = min(keys - tile, TILE + LANES);
        for (int t = 0; t < work->row_count; t++) {
            work->rows[t] = lookup[tile + t] * sizes.positions_total + tile + t;
        }
        score_tile(work, heads, 1, &cached, count);
        for (int h = 0; h < heads; h++) {
            for (int t = 0; relative && t < count; t++) {
                float bias = relative_bias(ROW(sizes, relative, first_head + h), sizes.reach, tile + t, position);
                work->scores[h][t] = fma(M_LOG2E_F, bias, work->scores[h][t]);
            }
            weigh_tile(work, h, count);
        }
        add_tile(work, heads, 1, &cached, count);
    }
    for (int h = 0; h < heads; h++) {
        finish(ROW(sizes, y, row) + value + h * VALUE_WIDTH, &work->running[h]);
    }
}

CPU_KERNEL void attention_step_cpu(STEP_ARGUMENTS)
{
    struct step_work work;
    int together = heads_together(sizes.rows, sizes.heads, 1), tasks = sizes.rows * count_head_groups(sizes.heads, together);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        step_task(&work, task, together, y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, sizes);
    }
}

#include "include/attention_parts.cl"

CPU_KERNEL void attention_rows_cpu(ATTENTION_ARGUMENTS_OF(cache_element))
{
    struct step_work work;
    int together = rows_together_of(sizes), tasks = count_row_tasks(together, sizes);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        rows_task(&work, task, together, 0, y, q, k, v, ranges, hidden, additive, relative, sizes);
    }
}

#include "include/attention_step_gpu.cl"

#ifndef WITHOUT_KERNELS /* defined by programs that only call the functions above */
/* memory: CLF__STEP_LOCAL_QUADS(); the joining kernels need none. With sizes.parts > 1 each part of a query
 * is a separate task, and another launch joins the parts. */
GPU_KERNEL_OF(ITEMS) void attention_step_gpu(__local float4 *memory, __global float *partials, STEP_ARGUMENTS)
{
    int tasks = sizes.parts * sizes.rows * sizes.heads;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        struct step step;
        begin_step(&step, task, partials, y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, sizes);
        barrier(CLK_GLOBAL_MEM_FENCE);
        attend(&step, memory);
    }
}

GPU_KERNEL_OF(ITEMS) void attention_step_join_gpu(__local float4 *memory, __global float *partials, STEP_ARGUMENTS)
{
    for (int task = (int)get_group_id(0); task < sizes.rows * sizes.heads; task += (int)get_num_groups(0)) {
        struct step step;
        begin_step(&step, task, partials, y, q, 0, 0, k, v, table, cache_rows, positions, relative, sizes);
        join_parts(&step);
    }
}

GPU_KERNEL_OF(ITEMS) void attention_rows_gpu(__local float4 *memory, __global float *partials,
                                             ATTENTION_ARGUMENTS_OF(cache_element))
{
    int tasks = sizes.parts * sizes.sequences * sizes.max_queries * sizes.heads;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        struct step step;
        begin_rows(&step, task, partials, y, q, k, v, ranges, hidden, additive, relative, sizes);
        if (step.y) {
            attend(&step, memory);
        }
    }
}

GPU_KERNEL_OF(ITEMS) void attention_rows_join_gpu(__local float4 *memory, __global float *partials,
                                                  ATTENTION_ARGUMENTS_OF(cache_element))
{
    int tasks = sizes.sequences * sizes.max_queries * sizes.heads;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        struct step step;
        begin_rows(&step, task, partials, y, q, k, v, ranges, hidden, additive, relative, sizes);
        if (step.y) {
            join_parts(&step);
        }
    }
}
#endif
