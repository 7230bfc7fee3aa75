/* Scaled dot-product attention where a sequence has one or few queries (a decoding step). For each query row
 * r and head h, over the keys t that r may look at:
 *
 *     s[t] = scale * q[r] . k[t] + what the masks add
 *     y[r] = sum_t exp(s[t] - m) v[t] / sum_t exp(s[t] - m), m = max_t s[t]; zeros where every s[t] is -inf
 *
 * attention_step: row r's own key and value go to row cache_rows[r] * positions_total + positions[r] of the cache,
 * unless own_k is null and they are there; then its key t is the cache's row table[cache_rows[r]][t] * positions_total
 * + t, t = 0 .. positions[r], in tiles of 64 from the first one on. A row whose cache row or position lies outside the
 * cache gets zeros. attention_rows, of the GPU form alone: queries and keys of a ragged batch as in attention.cl, with
 * its masks. A row's result depends on nothing but its own keys.
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

/* ---- the CPU form: lanes are columns of a head; a work-item takes one (row, head) ---- */

/* The running state of one row and head; scores are times log2(e). */
struct state {
    float16 query[VECTORS(KEY_WIDTH)];
    float16 sums[VECTORS(VALUE_WIDTH)];
    float scores[TILE];
    int rows[TILE]; /* of keys and values */
    float maximum, total;
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

/* query . key, lane by lane. */
#define product(state, key) (wide_product(state, key).v)
static inline struct wide wide_product(const struct state *state, const __global float *key)
{
    float16 sum = 0.0f;
#pragma unroll
    for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
        int left = KEY_WIDTH - c * LANES;
        sum = fma16(state->query[c], left >= LANES ? vload16(c, key) : load_part(key + c * LANES, left, 0.0f),
                  sum);
    }
    return WIDE(sum);
}

/* scores[t] = query . k[rows[t]] for t < count, 16 at a time: the sixteen products' lanes are added pairwise,
 * as a tree, until one vector holds the sixteen sums. Keys beyond count repeat the last one. */
static inline void score_tile(struct state *state, const __global float *k, int stride, int count)
{
    for (int t = 0; t < count; t += LANES) {
        float16 sums[LANES];
#pragma unroll
        for (int i = 0; i < LANES; i++) {
            sums[i] = product(state, k + (size_t)state->rows[min(t + i, count - 1)] * stride);
        }
#pragma unroll
        for (int left = LANES / 2; left > 0; left /= 2) {
#pragma unroll
            for (int i = 0; i < left; i++) {
                sums[i] = pair_sums(sums[2 * i], sums[2 * i + 1]);
            }
        }
        vstore16(sums[0], 0, state->scores + t);
    }
}

/* Folds the tile's scores and values into the running maximum and sums. */
static inline void add_tile(struct state *state, const __global float *v, int stride, int count)
{
    for (int t = count; t % LANES != 0; t++) {
        state->scores[t] = -INFINITY;
    }
    float16 largest = state->maximum;
    for (int t = 0; t < count; t += LANES) {
        largest = fmax16(largest, vload16(0, state->scores + t));
    }
    float maximum = max16(largest);
    /* While nothing has been seen: subtracting 0 instead of -inf makes the weights 0, not NaN. */
    float subtracted = maximum == -INFINITY ? 0.0f : maximum;
    float factor = exp2_16((float16)(state->maximum - subtracted)).s0;
    float16 total = 0.0f;
    for (int t = 0; t < count; t += LANES) {
        float16 weights = exp2_16(vload16(0, state->scores + t) - subtracted);
        total += weights;
        vstore16(weights, 0, state->scores + t);
    }
    state->total = fma(state->total, factor, sum16(total));
    state->maximum = maximum;

    float16 sums[VECTORS(VALUE_WIDTH)];
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        sums[c] = state->sums[c] * factor;
    }
    for (int t = 0; t < count; t++) {
        const __global float *value = v + (size_t)state->rows[t] * stride;
        float16 weight = state->scores[t];
#pragma unroll
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            int left = VALUE_WIDTH - c * LANES;
            sums[c] =
                fma16(weight, left >= LANES ? vload16(c, value) : load_part(value + c * LANES, left, 0.0f),
                    sums[c]);
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
static inline void step_task(int task, STEP_ARGUMENTS)
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
    struct state state;
    start(&state, ROW(q, row) + head * KEY_WIDTH, sizes.scale * M_LOG2E_F);
    for (int tile = 0; tile < keys; tile += TILE) {
        int count = min(keys - tile, TILE);
        for (int t = 0; t < count; t++) {
            state.rows[t] = lookup[tile + t] * sizes.positions_total + tile + t;
        }
        score_tile(&state, ROW(k, 0) + head * KEY_WIDTH, sizes.k.stride, count);
        for (int t = 0; relative && t < count; t++) {
            float bias = relative_bias(ROW(relative, head), sizes.reach, tile + t, position);
            state.scores[t] = fma(M_LOG2E_F, bias, state.scores[t]);
        }
        add_tile(&state, ROW(v, 0) + head * VALUE_WIDTH, sizes.v.stride, count);
    }
    finish(ROW(y, row) + head * VALUE_WIDTH, &state);
}

CPU_KERNEL void attention_step_cpu(STEP_ARGUMENTS)
{
    for (int task = (int)get_group_id(0); task < sizes.rows * sizes.heads; task += (int)get_num_groups(0)) {
        step_task(task, y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, sizes);
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
