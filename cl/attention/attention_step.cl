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
 * and values; of the GPU form WAYS, and IS_ALIGNED or none. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_step.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE 64 /* keys between two looks at the running maximum */

/* own_k and own_v (rows, as q), or both null; keys beyond a row's position are never read. */
#define STEP_ARGUMENTS                                                                                                 \
    __global result_element *y, const __global float *q, const __global float *own_k, const __global float *own_v,              \
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

static inline void finish(__global result_element *y, const struct running *running)
{
    float share = running->total == 0.0f ? 0.0f : 1.0f / running->total;
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        store_result16(running->sums[c] * share, y + c * LANES, min(VALUE_WIDTH - c * LANES, LANES));
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

/* ---- the GPU form: a group takes one (row, head). Tile i of the keys belongs to stream i % STREAMS, each of which has a
 * running state of its own; WAYS sub-groups of GROUP work-items take a stream each, then the next WAYS, and the states are
 * joined in the streams' order. So WAYS, the host's choice, decides how many loads are under way, not what comes out.
 * IS_ALIGNED: keys and values begin on multiples of four elements, and their widths are such. ---- */

#ifndef WAYS
#define WAYS 1
#endif
#define ITEMS   (WAYS * GROUP)
#define STREAMS CLF__STEP_STREAMS

/* A sub-group's lanes in a tile: KEY_PARTS share a key's columns for its score, so that a row is read as it lies, and
 * VALUE_LANES those of eight values for the sums. */
#define KEY_PARTS   CLF__STEP_KEY_PARTS
#define KEY_QUADS   ((KEY_WIDTH + 3) / 4)
#define VALUE_QUADS ((VALUE_WIDTH + 3) / 4)
#define VALUE_LANES (VALUE_QUADS > 32 ? 64 : VALUE_QUADS > 16 ? 32 : VALUE_QUADS > 8 ? 16 : 8)
#define COLUMNS     CLF__STEP_COLUMNS(VALUE_WIDTH)
#define PITCH       CLF__STEP_PITCH /* of parts, in quads: those of a key lie in different banks */

/* The keys and values that a row and head look at: t = 0 .. keys - 1 is row first_row + t of them, or with `lookup` row
 * lookup[t] * positions_total + t. What is null of the rest adds nothing to the scores. */
struct attended {
    const __global cache_element *k, *v;
    int key_stride, value_stride, keys, first_row, positions_total;
    const __global int *lookup, *hidden;
    const __global float *additive, *relative;
    int reach, query;
};

/* A sub-group's place in the group, and its local memory. */
struct place {
    int lane, way;
    __local float4 *query, *parts, *scores, *weights;
    __local int4 *rows;
};

/* Of a stream, or of several: of a lane the sums of four columns (and of those QUADS further on) and the total of the
 * weights, over the keys that it took. */
struct state {
    float4 sums[COLUMNS];
    float maximum, total;
};

static inline void begin_state(struct state *state)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        state->sums[c] = (float4)(0.0f);
    }
    state->maximum = -INFINITY;
    state->total = 0.0f;
}

/* What is subtracted from the scores. While nothing has been seen: 0 instead of -inf makes the weights 0, not NaN. */
static inline float subtracted_of(float maximum)
{
    return maximum == -INFINITY ? 0.0f : maximum;
}

/* Exact where one of the two has seen nothing. */
static inline void join_state(struct state *state, const struct state *other)
{
    float maximum = fmax(state->maximum, other->maximum), subtracted = subtracted_of(maximum);
    float factor = exp(state->maximum - subtracted), other_factor = exp(other->maximum - subtracted);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        state->sums[c] = state->sums[c] * factor + other->sums[c] * other_factor;
    }
    state->total = state->total * factor + other->total * other_factor;
    state->maximum = maximum;
}

static inline float add_products(float4 a, float4 b, float sum)
{
    return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

/* parts[p][t] = part p of query . k[t], for t < count at least. */
static inline __attribute__((always_inline)) void add_parts(const struct place *at, const struct attended *seen, int count)
{
    int part = at->lane % KEY_PARTS;
    /* Those beyond count are there, as the row of the last one that is. */
#pragma unroll 1
    for (int t = at->lane / KEY_PARTS * 4; t < count; t += GROUP / KEY_PARTS * 4) {
        int4 rows = at->rows[t / 4];
        const __global cache_element *k0 = seen->k + (size_t)rows.x * seen->key_stride;
        const __global cache_element *k1 = seen->k + (size_t)rows.y * seen->key_stride;
        const __global cache_element *k2 = seen->k + (size_t)rows.z * seen->key_stride;
        const __global cache_element *k3 = seen->k + (size_t)rows.w * seen->key_stride;
        float4 sums = (float4)(0.0f);
#pragma unroll 2
        for (int c = 0; c < (KEY_QUADS + KEY_PARTS - 1) / KEY_PARTS; c++) {
            int quad = part + c * KEY_PARTS;
            if (KEY_QUADS % KEY_PARTS == 0 || quad < KEY_QUADS) {
                int d = 4 * quad, left = KEY_WIDTH - d;
                float4 a0 = load_cached_quad(k0 + d, left), a1 = load_cached_quad(k1 + d, left);
                float4 a2 = load_cached_quad(k2 + d, left), a3 = load_cached_quad(k3 + d, left);
                float4 q = at->query[quad];
                sums.x = add_products(q, a0, sums.x);
                sums.y = add_products(q, a1, sums.y);
                sums.z = add_products(q, a2, sums.z);
                sums.w = add_products(q, a3, sums.w);
            }
        }
        at->parts[part * PITCH + t / 4] = sums;
    }
}

/* Key `lane` of a tile: its score, -inf where there is none to see. */
static inline float add_up(const struct place *at, float added, int is_seen)
{
    const __local float *parts = (const __local float *)at->parts + at->lane;
    float sum = 0.0f;
    if (is_seen) {
#pragma unroll
        for (int part = 0; part < KEY_PARTS; part++) {
            sum += parts[part * PITCH * 4];
        }
    }
    return is_seen ? sum + added : -INFINITY;
}

/* Folds a tile of `count` keys, whose score of key `lane` is `score`, into the state. */
static inline __attribute__((always_inline)) void fold(struct state *state, float score, const struct place *at,
                                                       const struct attended *seen, int count)
{
    ((__local float *)at->scores)[at->lane] = score;
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 scores = at->scores[0];
#pragma unroll
    for (int i = 1; i < TILE / 4; i++) {
        scores = fmax(scores, at->scores[i]);
    }
    float maximum = fmax(state->maximum, max4(scores)), subtracted = subtracted_of(maximum);
    float factor = exp(state->maximum - subtracted);
    ((__local float *)at->weights)[at->lane] = exp(score - subtracted);
    barrier(CLK_LOCAL_MEM_FENCE);
    state->maximum = maximum;
    state->total *= factor;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        state->sums[c] *= factor;
    }
#pragma unroll 1
    for (int t = at->lane / VALUE_LANES * 8; t < count; t += GROUP / VALUE_LANES * 8) {
        float4 near = at->weights[t / 4], far = at->weights[t / 4 + 1];
        int4 near_rows = at->rows[t / 4], far_rows = at->rows[t / 4 + 1];
        state->total += sum4(near) + sum4(far);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            int d = 4 * (at->lane % VALUE_LANES + c * GROUP), left = VALUE_WIDTH - d;
            if (left > 0) {
                const __global cache_element *v = seen->v + d;
                float4 v0 = load_cached_quad(v + (size_t)near_rows.x * seen->value_stride, left);
                float4 v1 = load_cached_quad(v + (size_t)near_rows.y * seen->value_stride, left);
                float4 v2 = load_cached_quad(v + (size_t)near_rows.z * seen->value_stride, left);
                float4 v3 = load_cached_quad(v + (size_t)near_rows.w * seen->value_stride, left);
                float4 v4 = load_cached_quad(v + (size_t)far_rows.x * seen->value_stride, left);
                float4 v5 = load_cached_quad(v + (size_t)far_rows.y * seen->value_stride, left);
                float4 v6 = load_cached_quad(v + (size_t)far_rows.z * seen->value_stride, left);
                float4 v7 = load_cached_quad(v + (size_t)far_rows.w * seen->value_stride, left);
                float4 sums = fma((float4)(near.x), v0, state->sums[c]);
                sums = fma((float4)(near.y), v1, sums);
                sums = fma((float4)(near.z), v2, sums);
                sums = fma((float4)(near.w), v3, sums);
                sums = fma((float4)(far.x), v4, sums);
                sums = fma((float4)(far.y), v5, sums);
                sums = fma((float4)(far.z), v6, sums);
                state->sums[c] = fma((float4)(far.w), v7, sums);
            }
        }
    }
}

/* What a sub-group passes on of its state lies where its parts were: the sums of its lanes, their totals, their maxima. */
static inline void pass_state(__local float4 *to, int lane, const struct state *state)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        to[c * GROUP + lane] = state->sums[c];
    }
    __local float *others = (__local float *)(to + COLUMNS * GROUP);
    others[lane] = state->total;
    others[GROUP + lane] = state->maximum;
}

static inline void take_state(struct state *state, int lane, const __local float4 *from)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        state->sums[c] = from[c * GROUP + lane];
    }
    const __local float *others = (const __local float *)(from + COLUMNS * GROUP);
    state->total = others[lane];
    state->maximum = others[GROUP + lane];
}

/* Joins the streams that the sub-groups took, `count` of them with keys, in the first one's state `all`. */
static inline void join_streams(struct state *all, const struct state *own, const struct place *at, int count)
{
#if WAYS > 1
    if (at->way > 0) {
        pass_state(at->parts, at->lane, own);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (at->way == 0) {
        join_state(all, own);
#pragma unroll 1
        for (int way = 1; way < min(WAYS, count); way++) {
            struct state other;
            take_state(&other, at->lane, at->parts + way * CLF__STEP_WAY_QUADS(VALUE_WIDTH));
            join_state(all, &other);
        }
    }
}

/* y from the first sub-group's state. */
static inline void store_state(__global result_element *y, const struct state *all, const struct place *at)
{
    __local float4 *passed = at->parts - at->way * CLF__STEP_WAY_QUADS(VALUE_WIDTH);
    if (at->way == 0) {
        pass_state(passed, at->lane, all);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const __local float *sums = (const __local float *)passed, *totals = sums + COLUMNS * QUADS;
    for (int d = (int)get_local_id(0); d < VALUE_WIDTH; d += ITEMS) {
        float sum = 0.0f, total = 0.0f;
#pragma unroll
        for (int lane = 0; lane < GROUP; lane += VALUE_LANES) {
            sum += sums[4 * lane + d];
            total += totals[lane];
        }
        store_result(total == 0.0f ? 0.0f : sum * (1.0f / total), y + d);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Inlined early, as what it calls with structs: late, the structs stay in memory with clang's code for NVIDIA. */
static inline __attribute__((always_inline)) void attend(__global result_element *y, const __global float *q, float scale,
                                                         const struct attended *seen, __local float4 *memory)
{
    int item = (int)get_local_id(0), way = item / GROUP;
    __local float4 *own = memory + KEY_QUADS + way * CLF__STEP_WAY_QUADS(VALUE_WIDTH);
    __local float4 *after = own + CLF__STEP_PART_QUADS(VALUE_WIDTH);
    struct place at = {item % GROUP, way, memory, own, after, after + TILE / 4, (__local int4 *)(after + TILE / 2)};
    for (int d = item; d < 4 * KEY_QUADS; d += ITEMS) {
        ((__local float *)memory)[d] = d < KEY_WIDTH ? scale * q[d] : 0.0f;
    }
    struct state all;
    begin_state(&all);
    int tiles = (seen->keys + TILE - 1) / TILE, swap = 0;
    /* With as many ways as streams this is one pass, whatever the keys: a condition there is what PoCL 3.1 gets wrong. */
    int streams = WAYS == STREAMS ? STREAMS : min(tiles, STREAMS);
    /* Every sub-group goes through the rounds of the first one, which has the most: barriers are for all. */
#pragma unroll 1
    for (int stream = 0; stream < streams; stream += WAYS) {
        struct state state;
        begin_state(&state);
#pragma unroll 1
        for (int first = stream * TILE; first < seen->keys; first += STREAMS * TILE) {
            int tile = first + way * TILE, count = clamp(seen->keys - tile, 0, TILE), key = tile + at.lane;
            int is_seen = at.lane < count && !(seen->hidden && seen->hidden[key]), row = min(key, seen->keys - 1);
            float added = 0.0f;
            if (is_seen && seen->relative) {
                added = relative_bias(seen->relative, seen->reach, key, seen->query);
            }
            if (is_seen && seen->additive) {
                added += seen->additive[key];
            }
            /* By turns in one place or another: the tile before may still be read. */
            swap = TILE / 4 - swap;
            at.rows = (__local int4 *)(after + TILE / 2) + swap;
            ((__local int *)at.rows)[at.lane] =
                seen->lookup ? seen->lookup[row] * seen->positions_total + row : seen->first_row + row;
            barrier(CLK_LOCAL_MEM_FENCE);
            add_parts(&at, seen, count);
            barrier(CLK_LOCAL_MEM_FENCE);
            fold(&state, add_up(&at, added, is_seen), &at, seen, count);
        }
        join_streams(&all, &state, &at, tiles - stream);
    }
    store_state(y, &all, &at);
}

/* A row and head: its query, where its result goes, and what it looks at; y null: nothing. */
struct step {
    __global result_element *y;
    const __global float *q;
    float scale;
    struct attended seen;
};

/* Task `task` of attention_step, whose own key and value go to the cache; a barrier on global memory comes before attend(). */
static inline __attribute__((always_inline)) void begin_step(struct step *out, int task, STEP_ARGUMENTS)
{
    int item = (int)get_local_id(0), row = task / sizes.heads, head = task % sizes.heads;
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    size_t own = (size_t)cache_row * sizes.positions_total + position;
    for (int d = item; keys > 0 && own_k && d < KEY_WIDTH; d += ITEMS) {
        STORE_CACHED(ROW(own_k, row)[head * KEY_WIDTH + d], ROW(k, own), head * KEY_WIDTH + d);
    }
    for (int d = item; keys > 0 && own_k && d < VALUE_WIDTH; d += ITEMS) {
        STORE_CACHED(ROW(own_v, row)[head * VALUE_WIDTH + d], ROW(v, own), head * VALUE_WIDTH + d);
    }
    out->y = ROW(y, row) + head * VALUE_WIDTH;
    out->q = ROW(q, row) + head * KEY_WIDTH;
    out->scale = sizes.scale;
    out->seen = (struct attended){
        .k = ROW(k, 0) + head * KEY_WIDTH,
        .v = ROW(v, 0) + head * VALUE_WIDTH,
        .key_stride = sizes.k.stride,
        .value_stride = sizes.v.stride,
        .keys = keys,
        .positions_total = sizes.positions_total,
        .lookup = ROW(table, cache_row),
        .relative = relative ? ROW(relative, head) : 0,
        .reach = sizes.reach,
        .query = position,
    };
}

/* Task `task` of attention_rows. */
static inline __attribute__((always_inline)) void begin_rows(struct step *out, int task, ATTENTION_ARGUMENTS_OF(cache_element))
{
    int row = task / sizes.heads, head = task % sizes.heads, index = row % sizes.max_queries;
    const __global int *range = ranges + sizes.ranges.offset + row / sizes.max_queries * 4;
    size_t query_row = (size_t)(range[0] + index);
    out->y = index < range[1] ? ROW(y, query_row) + head * VALUE_WIDTH : 0;
    out->q = ROW(q, query_row) + head * KEY_WIDTH;
    out->scale = sizes.scale;
    out->seen = (struct attended){
        .k = ROW(k, 0) + head * KEY_WIDTH,
        .v = ROW(v, 0) + head * VALUE_WIDTH,
        .key_stride = sizes.k.stride,
        .value_stride = sizes.v.stride,
        .keys = sizes.causal ? min(index + range[3] - range[1] + 1, range[3]) : range[3],
        .first_row = range[2],
        .hidden = hidden ? hidden + sizes.hidden.offset + range[2] : 0,
        .additive = additive ? ROW(additive, row) : 0,
        .relative = relative ? ROW(relative, head) : 0,
        .reach = sizes.reach,
        .query = index,
    };
}

#ifndef WITHOUT_KERNELS /* for programs that call the functions above */
/* memory: CLF__STEP_LOCAL_QUADS(). */
GPU_KERNEL_OF(ITEMS) void attention_step_gpu(__local float4 *memory, STEP_ARGUMENTS)
{
    for (int task = (int)get_group_id(0); task < sizes.rows * sizes.heads; task += (int)get_num_groups(0)) {
        struct step step;
        begin_step(&step, task, y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, sizes);
        barrier(CLK_GLOBAL_MEM_FENCE);
        attend(step.y, step.q, step.scale, &step.seen, memory);
    }
}

GPU_KERNEL_OF(ITEMS) void attention_rows_gpu(__local float4 *memory, ATTENTION_ARGUMENTS_OF(cache_element))
{
    int tasks = sizes.sequences * sizes.max_queries * sizes.heads;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        struct step step;
        begin_rows(&step, task, y, q, k, v, ranges, hidden, additive, relative, sizes);
        if (step.y) {
            attend(step.y, step.q, step.scale, &step.seen, memory);
        }
    }
}
#endif
