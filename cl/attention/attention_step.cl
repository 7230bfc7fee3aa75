/* Scaled dot-product attention where a sequence has one or few queries (a decoding step). For each query row
 * r and head h, over the keys t that r may look at:
 *
 *     s[t] = scale * q[r] . k[t] + what the masks add
 *     y[r] = sum_t exp(s[t] - m) v[t] / sum_t exp(s[t] - m), m = max_t s[t]; zeros where every s[t] is -inf
 *
 * attention_step: row r's own key and value go to row cache_rows[r] * positions_total + positions[r] of the cache,
 * unless own_k is null and they are there; then its key t is the cache's row table[cache_rows[r]][t] * positions_total
 * + t, t = 0 .. positions[r], in tiles of 64 from the first one on. A row whose cache row or position lies outside the
 * cache gets zeros. attention_rows: queries and keys of a ragged batch as in attention.cl, with its masks, likewise in
 * tiles. A row's result depends on nothing but its own keys; only where values are not finite may a masked one count.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head), HALF_CACHE (cache_element.cl) or none: of the cache, or of the batch's keys
 * and values. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_step.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE 64 /* keys between two looks at the running maximum */

/* own_k and own_v (rows, as q), or both null; keys beyond a row's position are never read. */
#define STEP_ARGUMENTS                                                                                                 \
    __global float *y, const __global float *q, const __global float *own_k, const __global float *own_v,              \
        __global cache_element *k, __global cache_element *v, const __global int *table, const __global int *cache_rows, \
        const __global int *positions, const __global float *relative, struct clf__attention_step_sizes sizes

#include "include/attention_blocks.cl"
#include "include/cache_element.cl"

/* How many keys row r sees: none where its cache row or position lies outside the cache. */
static inline int count_keys(int cache_row, int position, int cache_rows_total, int positions_total)
{
    int is_inside = cache_row >= 0 && cache_row < cache_rows_total && position >= 0 && position < positions_total;
    return is_inside ? position + 1 : 0;
}

/* The bias of key t for a query at position `query`; `bias` is the head's row of the table. */
static inline float relative_bias(const __global float *bias, int reach, int t, int query)
{
    return bias[clamp(t - query + reach, 0, 2 * reach)];
}

/* ---- the CPU form: lanes are columns of a head. A work-item takes a row of the cache, or the queries of a sequence, and
 * some neighbouring heads: their keys lie side by side, and memory is read fastest in long runs. Keys are read as they
 * lie, where attention.cl packs them for many queries. ---- */

#include "include/attention_few.cl"

static inline void finish(__global float *y, const struct running *running)
{
    float share = running->total == 0.0f ? 0.0f : 1.0f / running->total;
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        int left = VALUE_WIDTH - c * LANES;
        if (left >= LANES) {
            vstore16(running->sums[c] * share, c, y);
        } else {
            store_part(running->sums[c] * share, y + c * LANES, left);
        }
    }
}

/* How many tasks the heads make where each takes `together` of them. */
static inline int count_head_groups(int heads, int together)
{
    return (heads - 1) / together + 1;
}

/* How many heads a task takes of `all` rows or the like, whose tasks the groups share: as many as there are states for,
 * unless some group then had more to do than with one head a task. So in decoder_layer.cl; launches that have a group for
 * each head's task take one. */
static inline int heads_together(int all, int heads, int queries)
{
    int groups = (int)get_num_groups(0), least = (all * heads - 1) / groups + 1;
    int together = clamp(STEP_STATES / queries, 1, heads);
    while (together > 1 && ((all * count_head_groups(heads, together) - 1) / groups + 1) * together > least) {
        together--;
    }
    return together;
}

/* One row and `together` heads. */
static inline void step_task(struct step_work *work, int task, int together, STEP_ARGUMENTS)
{
    int head_groups = count_head_groups(sizes.heads, together), row = task / head_groups;
    int first_head = task % head_groups * together, heads = min(together, sizes.heads - first_head);
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    int key = first_head * KEY_WIDTH, value = first_head * VALUE_WIDTH;
    const struct cached cached = {ROW(k, 0) + key, ROW(v, 0) + value, sizes.k.stride, sizes.v.stride};
    const __global int *lookup = ROW(table, cache_row);
    if (keys > 0 && own_k) {
        size_t own = (size_t)cache_row * sizes.positions_total + position;
        store_cached_row(ROW(k, own) + key, ROW(own_k, row) + key, heads * KEY_WIDTH);
        store_cached_row(ROW(v, own) + value, ROW(own_v, row) + value, heads * VALUE_WIDTH);
    }
    for (int h = 0; h < heads; h++) {
        load_step_query(work->queries[h], ROW(q, row) + key + h * KEY_WIDTH, sizes.scale * M_LOG2E_F);
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
                float bias = relative_bias(ROW(relative, first_head + h), sizes.reach, tile + t, position);
                work->scores[h][t] = fma(M_LOG2E_F, bias, work->scores[h][t]);
            }
            weigh_tile(work, h, count);
        }
        add_tile(work, heads, 1, &cached, count);
    }
    for (int h = 0; h < heads; h++) {
        finish(ROW(y, row) + value + h * VALUE_WIDTH, &work->running[h]);
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

/* ---- the GPU form: a group takes one (row, head); work-items are keys for the scores, columns for the sums
 * ---- */

#define CHUNK   (KEY_WIDTH < 32 ? KEY_WIDTH : 32)
#define COLUMNS ((VALUE_WIDTH + GROUP - 1) / GROUP)

#define GROUP_MEMORY                                                                                                   \
    __local float query[KEY_WIDTH], chunk[TILE * (CHUNK + 1)], weights[TILE], parts[GROUP];                            \
    __local int key_rows[TILE]

/* query = scale * q. */
static inline void load_query(__local float *query, const __global float *q, float scale)
{
    for (int d = (int)get_local_id(0); d < KEY_WIDTH; d += GROUP) {
        query[d] = scale * q[d];
    }
}

/* query . k[rows[lane]], by columns that the group loads together; begins with a barrier. */
static inline float score(const __local float *query, __local float *chunk, const __local int *rows,
                          const __global cache_element *k, int stride, int count)
{
    int lane = (int)get_local_id(0);
    float sum = 0.0f;
#pragma unroll 1
    for (int d = 0; d < KEY_WIDTH; d += CHUNK) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (int e = lane; e < TILE * CHUNK; e += GROUP) {
            int row = e / CHUNK, column = e % CHUNK;
            chunk[row * (CHUNK + 1) + column] =
                row < count && d + column < KEY_WIDTH ? LOAD_CACHED(k, (size_t)rows[row] * stride + d + column) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int c = 0; c < CHUNK && d + c < KEY_WIDTH; c++) {
            sum = fma(query[d + c], chunk[lane * (CHUNK + 1) + c], sum);
        }
    }
    return sum;
}

/* Folds a tile whose score of key rows[lane] is `score` (-inf where there is none) into the running state. */
static inline void fold(float *sums, float *maximum, float *total, float score, __local float *parts,
                        __local float *weights, const __local int *rows, const __global cache_element *v, int stride,
                        int count)
{
    int lane = (int)get_local_id(0);
    float largest = fmax(*maximum, group_max(parts, score));
    /* While nothing has been seen: subtracting 0 instead of -inf makes the weights 0, not NaN. */
    float subtracted = largest == -INFINITY ? 0.0f : largest;
    float factor = exp(*maximum - subtracted), weight = exp(score - subtracted);
    weights[lane] = weight;
    *total = *total * factor + group_sum(parts, weight);
    *maximum = largest;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int d = lane + c * GROUP;
        if (d < VALUE_WIDTH) {
            float sum = sums[c] * factor;
            for (int t = 0; t < count; t++) {
                sum = fma(weights[t], LOAD_CACHED(v, (size_t)rows[t] * stride + d), sum);
            }
            sums[c] = sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void store_group(__global float *y, const float *sums, float total)
{
    float share = total == 0.0f ? 0.0f : 1.0f / total;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int d = (int)get_local_id(0) + c * GROUP;
        if (d < VALUE_WIDTH) {
            y[d] = sums[c] * share;
        }
    }
}

GPU_KERNEL void attention_step_gpu(STEP_ARGUMENTS)
{
    GROUP_MEMORY;
    int lane = (int)get_local_id(0);
    for (int task = (int)get_group_id(0); task < sizes.rows * sizes.heads; task += (int)get_num_groups(0)) {
        int row = task / sizes.heads, head = task % sizes.heads;
        int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
        int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
        const __global int *lookup = ROW(table, cache_row);
        size_t own = (size_t)cache_row * sizes.positions_total + position;
        for (int d = lane; keys > 0 && own_k && d < KEY_WIDTH; d += GROUP) {
            STORE_CACHED(ROW(own_k, row)[head * KEY_WIDTH + d], ROW(k, own), head * KEY_WIDTH + d);
        }
        for (int d = lane; keys > 0 && own_k && d < VALUE_WIDTH; d += GROUP) {
            STORE_CACHED(ROW(own_v, row)[head * VALUE_WIDTH + d], ROW(v, own), head * VALUE_WIDTH + d);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        float sums[COLUMNS] = {0.0f}, maximum = -INFINITY, total = 0.0f;
        load_query(query, ROW(q, row) + head * KEY_WIDTH, sizes.scale);
        for (int tile = 0; tile < keys; tile += TILE) {
            int count = min(keys - tile, TILE), key = tile + lane;
            if (lane < count) {
                key_rows[lane] = lookup[key] * sizes.positions_total + key;
            }
            float s = score(query, chunk, key_rows, ROW(k, 0) + head * KEY_WIDTH, sizes.k.stride, count);
            if (lane >= count) {
                s = -INFINITY;
            } else if (relative) {
                s += relative_bias(ROW(relative, head), sizes.reach, key, keys - 1);
            }
            fold(sums, &maximum, &total, s, parts, weights, key_rows, ROW(v, 0) + head * VALUE_WIDTH,
                 sizes.v.stride, count);
        }
        store_group(ROW(y, row) + head * VALUE_WIDTH, sums, total);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

GPU_KERNEL void attention_rows_gpu(ATTENTION_ARGUMENTS_OF(cache_element))
{
    GROUP_MEMORY;
    int lane = (int)get_local_id(0), tasks = sizes.sequences * sizes.max_queries * sizes.heads;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int row = task / sizes.heads, head = task % sizes.heads, index = row % sizes.max_queries;
        const __global int *range = ranges + sizes.ranges.offset + row / sizes.max_queries * 4;
        int first_key = range[2], keys = sizes.causal ? min(index + range[3] - range[1] + 1, range[3]) : range[3];
        if (index >= range[1]) {
            continue;
        }
        size_t query_row = (size_t)(range[0] + index);
        float sums[COLUMNS] = {0.0f}, maximum = -INFINITY, total = 0.0f;
        load_query(query, ROW(q, query_row) + head * KEY_WIDTH, sizes.scale);
        for (int tile = 0; tile < keys; tile += TILE) {
            int count = min(keys - tile, TILE), key = tile + lane;
            key_rows[lane] = first_key + key;
            float s = score(query, chunk, key_rows, ROW(k, 0) + head * KEY_WIDTH, sizes.k.stride, count);
            if (lane >= count || (hidden && hidden[sizes.hidden.offset + first_key + key])) {
                s = -INFINITY;
            } else {
                if (relative) {
                    s += relative_bias(ROW(relative, head), sizes.reach, key, index);
                }
                if (additive) {
                    s += ROW(additive, row)[key];
                }
            }
            fold(sums, &maximum, &total, s, parts, weights, key_rows, ROW(v, 0) + head * VALUE_WIDTH,
                 sizes.v.stride, count);
        }
        store_group(ROW(y, query_row) + head * VALUE_WIDTH, sums, total);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
