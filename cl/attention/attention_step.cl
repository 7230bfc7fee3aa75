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
 * tiles. A row's result depends on nothing but its own keys.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head). */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_step.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE 64 /* keys between two looks at the running maximum */

/* own_k and own_v (rows, as q), or both null; keys beyond a row's position are never read. */
#define STEP_ARGUMENTS                                                                                                 \
    __global float *y, const __global float *q, const __global float *own_k, const __global float *own_v,              \
        __global float *k, __global float *v, const __global int *table, const __global int *cache_rows,               \
        const __global int *positions, const __global float *relative, struct clf__attention_step_sizes sizes

#include "include/attention_blocks.cl"

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

/* ---- the CPU form: lanes are columns of a head; a work-item takes one row of a cache and head, or the queries of one
 * sequence and head, up to STEP_QUERIES of them. Unlike attention.cl's, which packs keys for many queries ---- */

#define STEP_QUERIES CLF__STEP_QUERIES
#define STEP_STATES  16

/* The running state of one query and head; scores are times log2(e). */
struct state {
    float16 query[VECTORS(KEY_WIDTH)];
    float16 sums[VECTORS(VALUE_WIDTH)];
    float maximum, total;
};

struct step_work {
    struct state states[STEP_STATES];
    float scores[TILE]; /* of one query */
    int rows[TILE];     /* of keys and values */
};

static inline void start(struct state *state, const __global float *query, float scale)
{
#pragma unroll
    for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
        int left = KEY_WIDTH - c * LANES;
        state->query[c] =
            scale * (left >= LANES ? vload16(c, query) : load_part(query + c * LANES, left, 0.0f));
    }
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        state->sums[c] = 0.0f;
    }
    state->maximum = -INFINITY;
    state->total = 0.0f;
}

/* The products of a query and of as many keys as a register has lanes, the rows from `row` on, of which `last` is the last:
 * lane by lane, and then the lanes are added pairwise, as a tree, until one register holds the keys' sums. */
#if VECTOR_LANES == 16
#define score_keys(state, k, stride, rows, row, last) (wide_score_keys(state, k, stride, rows, row, last).v)
static inline struct wide wide_score_keys(const struct state *state, const __global float *k, int stride, const int *rows,
                                          int row, int last)
{
    float16 sums[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        const __global float *key = k + (size_t)rows[min(row + i, last)] * stride;
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
            sums[i] = fma16(state->query[c], load_columns(key, c * LANES, KEY_WIDTH), sums[i]);
        }
    }
#pragma unroll
    for (int left = LANES / 2; left > 0; left /= 2) {
#pragma unroll
        for (int i = 0; i < left; i++) {
            sums[i] = pair_sums(sums[2 * i], sums[2 * i + 1]);
        }
    }
    return WIDE(sums[0]);
}
#else
/* Within each half of a register, where no lane crosses to the other. */
static inline float8 pair_halves(float8 a, float8 b)
{
    return (float8)(a.s0, a.s2, b.s0, b.s2, a.s4, a.s6, b.s4, b.s6) +
           (float8)(a.s1, a.s3, b.s1, b.s3, a.s5, a.s7, b.s5, b.s7);
}

/* Of the sixteen lanes the eight from `first` on, 0 or 8. Inlined, so that its loops have ends that are known. */
static inline __attribute__((always_inline)) float8 score_half(const struct state *state, const __global float *k, int stride, const int *rows, int row,
                                int last, int first)
{
    const float *query = (const float *)state->query + first;
    float8 sums[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const __global float *key = k + (size_t)rows[min(row + i, last)] * stride + first;
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < KEY_WIDTH - first; c += LANES) {
            sums[i] = fma(vload8(0, query + c), load_lanes(key + c, KEY_WIDTH - first - c), sums[i]);
        }
    }
#pragma unroll
    for (int left = 4; left > 1; left /= 2) {
#pragma unroll
        for (int i = 0; i < left; i++) {
            sums[i] = pair_halves(sums[2 * i], sums[2 * i + 1]);
        }
    }
    return (float8)(sums[0].lo, sums[1].lo) + (float8)(sums[0].hi, sums[1].hi);
}

static inline float8 score_keys(const struct state *state, const __global float *k, int stride, const int *rows, int row,
                                int last)
{
    return score_half(state, k, stride, rows, row, last, 0) + score_half(state, k, stride, rows, row, last, 8);
}
#endif

/* What of the next tile is fetched while this one is scored. */
struct next_tile {
    const __global float *k, *v;
    int k_stride, v_stride, count;
};

/* scores[t] = query . k[rows[t]] for t < count. */
static inline void score_tile(struct step_work *work, const struct state *state, const __global float *k, int stride,
                              int count, const struct next_tile *next)
{
    for (int t = 0; t < count; t += VECTOR_LANES) {
        int fetched = next ? clamp(next->count - t, 0, VECTOR_LANES) : 0;
        if (fetched > 0) {
            fetch_rows(next->k + (size_t)t * next->k_stride, next->k_stride, fetched, KEY_WIDTH);
            fetch_rows(next->v + (size_t)t * next->v_stride, next->v_stride, fetched, VALUE_WIDTH);
        }
        vstorev(score_keys(state, k, stride, work->rows, t, count - 1), 0, work->scores + t);
    }
}

/* Folds the tile's scores and values into the running maximum and sums. */
static inline void add_tile(struct step_work *work, struct state *state, const __global float *v, int stride, int count)
{
    float *scores = work->scores;
    for (int t = count; t % LANES != 0; t++) {
        scores[t] = -INFINITY;
    }
    float16 largest = state->maximum;
    for (int t = 0; t < count; t += LANES) {
        largest = fmax16(largest, vload16(0, scores + t));
    }
    float maximum = max16(largest);
    /* While nothing has been seen: subtracting 0 instead of -inf makes the weights 0, not NaN. */
    float subtracted = maximum == -INFINITY ? 0.0f : maximum;
    float factor = exp2_16((float16)(state->maximum - subtracted)).s0;
    float16 total = 0.0f;
    for (int t = 0; t < count; t += LANES) {
        float16 weights = exp2_16(vload16(0, scores + t) - subtracted);
        total += weights;
        vstore16(weights, 0, scores + t);
    }
    state->total = fma(state->total, factor, sum16(total));
    state->maximum = maximum;

    float16 sums[VECTORS(VALUE_WIDTH)];
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        sums[c] = state->sums[c] * factor;
    }
    for (int t = 0; t < count; t++) {
        const __global float *value = v + (size_t)work->rows[t] * stride;
        float16 weight = scores[t];
#pragma unroll
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            sums[c] = fma16(weight, load_columns(value, c * LANES, VALUE_WIDTH), sums[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        state->sums[c] = sums[c];
    }
}

static inline void finish(__global float *y, const struct state *state)
{
    float share = state->total == 0.0f ? 0.0f : 1.0f / state->total;
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        int left = VALUE_WIDTH - c * LANES;
        if (left >= LANES) {
            vstore16(state->sums[c] * share, c, y);
        } else {
            store_part(state->sums[c] * share, y + c * LANES, left);
        }
    }
}

static inline void copy_row(__global float *to, const __global float *from, int width)
{
    int c = 0;
    for (; c + LANES <= width; c += LANES) {
        vstore16(vload16(0, from + c), 0, to + c);
    }
    for (; c < width; c++) {
        to[c] = from[c];
    }
}

/* One row and head. */
static inline void step_task(struct step_work *work, int task, STEP_ARGUMENTS)
{
    int row = task / sizes.heads, head = task % sizes.heads;
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    const __global int *lookup = ROW(table, cache_row);
    if (keys > 0 && own_k) {
        size_t own = (size_t)cache_row * sizes.positions_total + position;
        copy_row(ROW(k, own) + head * KEY_WIDTH, ROW(own_k, row) + head * KEY_WIDTH, KEY_WIDTH);
        copy_row(ROW(v, own) + head * VALUE_WIDTH, ROW(own_v, row) + head * VALUE_WIDTH, VALUE_WIDTH);
    }
    struct state *state = work->states;
    start(state, ROW(q, row) + head * KEY_WIDTH, sizes.scale * M_LOG2E_F);
    for (int tile = 0; tile < keys; tile += TILE) {
        int count = min(keys - tile, TILE);
        for (int t = 0; t < count; t++) {
            work->rows[t] = lookup[tile + t] * sizes.positions_total + tile + t;
        }
        score_tile(work, state, ROW(k, 0) + head * KEY_WIDTH, sizes.k.stride, count, 0);
        for (int t = 0; relative && t < count; t++) {
            float bias = relative_bias(ROW(relative, head), sizes.reach, tile + t, position);
            work->scores[t] = fma(M_LOG2E_F, bias, work->scores[t]);
        }
        add_tile(work, state, ROW(v, 0) + head * VALUE_WIDTH, sizes.v.stride, count);
    }
    finish(ROW(y, row) + head * VALUE_WIDTH, state);
}

CPU_KERNEL void attention_step_cpu(STEP_ARGUMENTS)
{
    struct step_work work;
    for (int task = (int)get_group_id(0); task < sizes.rows * sizes.heads; task += (int)get_num_groups(0)) {
        step_task(&work, task, y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, sizes);
    }
}

/* Masks a query's scores of count keys from `key` on. hidden (of these keys), bias (the head's) and terms (the query's row)
 * may be null. */
static inline void mask_scores(float *scores, int query, int key, int count, const __global int *hidden,
                               const __global float *bias, int reach, const __global float *terms)
{
    for (int t = 0; t < count; t++) {
        float score = scores[t];
        score = bias ? fma(M_LOG2E_F, relative_bias(bias, reach, key + t, query), score) : score;
        score = terms ? fma(M_LOG2E_F, terms[key + t], score) : score;
        scores[t] = hidden && hidden[t] ? -INFINITY : score;
    }
}

/* How the groups share sequences and heads: a task is a block of queries of `heads` neighbouring heads, whose keys lie side
 * by side, so that memory is read in longer runs than one head's. As many as there are states for, unless some group then
 * had more to do than with one head a task. */
struct share {
    int heads, blocks, tasks;
};

static inline struct share share_rows(struct clf__attention_sizes sizes)
{
    int groups = (int)get_num_groups(0), queries = clamp(sizes.max_queries, 1, STEP_QUERIES);
    struct share share;
    share.blocks = (sizes.max_queries - 1) / STEP_QUERIES + 1;
    int all = sizes.sequences * share.blocks, least = (all * sizes.heads - 1) / groups + 1;
    share.heads = clamp(STEP_STATES / queries, 1, sizes.heads);
    do {
        share.tasks = all * ((sizes.heads - 1) / share.heads + 1);
    } while (((share.tasks - 1) / groups + 1) * share.heads > least && share.heads-- > 1);
    return share;
}

/* A block of queries of a sequence. */
struct block {
    size_t row; /* of the first query */
    int sequence, first, count;
    int first_key, own, end; /* keys that the first query sees, if there are so many, and that the last one does */
};

static inline struct block block_of(const __global int *ranges, int sequence, int first, struct clf__attention_sizes sizes)
{
    const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
    struct block block = {(size_t)(range[0] + first), sequence, first, min(range[1] - first, STEP_QUERIES), range[2]};
    block.own = sizes.causal ? first + range[3] - range[1] + 1 : range[3];
    block.end = sizes.causal ? min(block.own + block.count - 1, range[3]) : range[3];
    return block;
}

/* A tile of one head, which the block's queries share. */
static inline void fold_tile(struct step_work *work, struct state *states, const struct block *block, int head, int tile,
                             int width, const struct next_tile *next, const __global float *k, const __global float *v,
                             const __global int *hidden, const __global float *additive, const __global float *relative,
                             struct clf__attention_sizes sizes)
{
    for (int i = 0; i < block->count; i++) {
        int seen = sizes.causal ? min(block->own + i - tile, width) : width;
        if (seen <= 0) {
            continue;
        }
        score_tile(work, &states[i], ROW(k, 0) + head * KEY_WIDTH, sizes.k.stride, seen, i == 0 ? next : 0);
        if (hidden || relative || additive) {
            int query = block->first + i;
            mask_scores(work->scores, query, tile, seen, hidden ? hidden + sizes.hidden.offset + block->first_key + tile : 0,
                        relative ? ROW(relative, head) : 0, sizes.reach,
                        additive ? ROW(additive, (size_t)block->sequence * sizes.max_queries + query) : 0);
        }
        add_tile(work, &states[i], ROW(v, 0) + head * VALUE_WIDTH, sizes.v.stride, seen);
    }
}

/* A task. While it works on a tile, the next one is fetched. */
static inline void rows_task(struct step_work *work, int task, const struct share *share, ATTENTION_ARGUMENTS)
{
    int parts = share->tasks / (sizes.sequences * share->blocks), first_head = task % parts * share->heads;
    int heads = min(share->heads, sizes.heads - first_head), number = task / parts;
    struct block block =
        block_of(ranges, number / share->blocks, number % share->blocks * STEP_QUERIES, sizes);
    for (int n = 0; n < heads * block.count; n++) {
        start(&work->states[n], ROW(q, block.row + n % block.count) + (first_head + n / block.count) * KEY_WIDTH,
              sizes.scale * M_LOG2E_F);
    }
    for (int tile = 0; block.count > 0 && tile < block.end; tile += TILE) {
        int width = min(block.end - tile, TILE);
        for (int t = 0; t < width; t++) {
            work->rows[t] = block.first_key + tile + t;
        }
        for (int h = 0; h < heads; h++) {
            int head = first_head + h, next_row = block.first_key + tile + TILE;
            struct next_tile next = {ROW(k, next_row) + head * KEY_WIDTH, ROW(v, next_row) + head * VALUE_WIDTH, sizes.k.stride,
                                     sizes.v.stride, min(block.end - tile - TILE, TILE)};
            fold_tile(work, work->states + h * block.count, &block, head, tile, width, &next, k, v, hidden, additive, relative,
                      sizes);
        }
    }
    for (int n = 0; n < heads * block.count; n++) {
        finish(ROW(y, block.row + n % block.count) + (first_head + n / block.count) * VALUE_WIDTH, &work->states[n]);
    }
}

CPU_KERNEL void attention_rows_cpu(ATTENTION_ARGUMENTS)
{
    struct step_work work;
    struct share share = share_rows(sizes);
    for (int task = (int)get_group_id(0); task < share.tasks; task += (int)get_num_groups(0)) {
        rows_task(&work, task, &share, y, q, k, v, ranges, hidden, additive, relative, sizes);
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
                          const __global float *k, int stride, int count)
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
                row < count && d + column < KEY_WIDTH ? k[(size_t)rows[row] * stride + d + column] : 0.0f;
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
                        __local float *weights, const __local int *rows, const __global float *v, int stride,
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
                sum = fma(weights[t], v[(size_t)rows[t] * stride + d], sum);
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
            ROW(k, own)[head * KEY_WIDTH + d] = ROW(own_k, row)[head * KEY_WIDTH + d];
        }
        for (int d = lane; keys > 0 && own_k && d < VALUE_WIDTH; d += GROUP) {
            ROW(v, own)[head * VALUE_WIDTH + d] = ROW(own_v, row)[head * VALUE_WIDTH + d];
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

GPU_KERNEL void attention_rows_gpu(ATTENTION_ARGUMENTS)
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
