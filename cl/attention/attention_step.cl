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

/* ---- the CPU form: lanes are columns of a head. A work-item takes a row of the cache, or the queries of a sequence, and
 * some neighbouring heads: their keys lie side by side, and memory is read fastest in long runs. Keys are read as they
 * lie, where attention.cl packs them for many queries. ---- */

#define STEP_QUERIES CLF__STEP_QUERIES(KEY_WIDTH, VALUE_WIDTH)
#define STEP_STATES  CLF__STEP_STATES(KEY_WIDTH, VALUE_WIDTH) /* queries times heads that are taken together */
#define PART_KEYS    CLF__PART_KEYS
#define PARTIAL      CLF__PARTIAL_WIDTH(VALUE_WIDTH)

/* What some keys come to for a query and head: the sum of their values, weighed by exp(score - maximum), and the total of
 * these weights. */
struct running {
    float16 sums[VECTORS(VALUE_WIDTH)];
    float maximum, total;
};

/* Of each query of each head; all queries of a head lie one after the other. Scores are times log2(e). */
struct step_work {
    float16 queries[STEP_STATES][VECTORS(KEY_WIDTH)];
    struct running running[STEP_STATES];
    struct running earlier[STEP_STATES]; /* of the parts of keys before this one */
    float scores[STEP_STATES][TILE];     /* and then weights */
    float factors[STEP_STATES];          /* what the new maximum makes of their earlier sums */
    int rows[TILE];                      /* of keys and values */
};

static inline void load_step_query(float16 *to, const __global float *query, float scale)
{
#pragma unroll
    for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
        to[c] = scale * load_columns(query, c * LANES, KEY_WIDTH);
    }
}

static inline void begin(struct running *running)
{
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        running->sums[c] = 0.0f;
    }
    running->maximum = -INFINITY;
    running->total = 0.0f;
}

/* The products of a query and of as many keys as a register has lanes, the rows from `row` on, of which `last` is the last:
 * lane by lane, and then the lanes are added pairwise, as a tree, until one register holds the keys' sums. */
#if VECTOR_LANES == 16
#define score_keys(query, k, stride, rows, row, last) (wide_score_keys(query, k, stride, rows, row, last).v)
static inline struct wide wide_score_keys(const float16 *query, const __global float *k, int stride, const int *rows,
                                          int row, int last)
{
    float16 sums[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        const __global float *key = k + (size_t)rows[min(row + i, last)] * stride;
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
            sums[i] = fma16(query[c], load_columns(key, c * LANES, KEY_WIDTH), sums[i]);
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
static inline __attribute__((always_inline)) float8 score_half(const float16 *query, const __global float *k, int stride,
                                                               const int *rows, int row, int last, int first)
{
    float8 sums[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const __global float *key = k + (size_t)rows[min(row + i, last)] * stride + first;
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < KEY_WIDTH - first; c += LANES) {
            float8 columns = vload8(0, (const float *)query + first + c);
            sums[i] = fma(columns, load_lanes(key + c, KEY_WIDTH - first - c), sums[i]);
        }
    }
    float8 a = pair_halves(pair_halves(sums[0], sums[1]), pair_halves(sums[2], sums[3]));
    float8 b = pair_halves(pair_halves(sums[4], sums[5]), pair_halves(sums[6], sums[7]));
    return (float8)(a.lo, b.lo) + (float8)(a.hi, b.hi);
}

static inline float8 score_keys(const float16 *query, const __global float *k, int stride, const int *rows, int row, int last)
{
    return score_half(query, k, stride, rows, row, last, 0) + score_half(query, k, stride, rows, row, last, 8);
}
#endif

/* scores[n][t] = query n . k[rows[t]] for t < count; k is the first head's. The keys of all heads before the next ones. */
static inline void score_tile(struct step_work *work, int heads, int queries, const __global float *k, int stride, int count)
{
    for (int t = 0; t < count; t += VECTOR_LANES) {
        for (int n = 0; n < heads * queries; n++) {
            vstorev(score_keys(work->queries[n], k + n / queries * KEY_WIDTH, stride, work->rows, t, count - 1), 0,
                    work->scores[n] + t);
        }
    }
}

/* Scores to weights. */
static inline void weigh_tile(struct step_work *work, int n, int count)
{
    struct running *running = &work->running[n];
    float *scores = work->scores[n];
    for (int t = count; t % LANES != 0; t++) {
        scores[t] = -INFINITY;
    }
    float16 largest = running->maximum;
    for (int t = 0; t < count; t += LANES) {
        largest = fmax16(largest, vload16(0, scores + t));
    }
    float maximum = max16(largest);
    /* While nothing has been seen: subtracting 0 instead of -inf makes the weights 0, not NaN. */
    float subtracted = maximum == -INFINITY ? 0.0f : maximum;
    float factor = exp2_16((float16)(running->maximum - subtracted)).s0;
    float16 total = 0.0f;
    for (int t = 0; t < count; t += LANES) {
        float16 weights = exp2_16(vload16(0, scores + t) - subtracted);
        total += weights;
        vstore16(weights, 0, scores + t);
    }
    running->total = fma(running->total, factor, sum16(total));
    running->maximum = maximum;
    work->factors[n] = factor;
}

/* sums += the values of rows first .. end - 1 by their weights; at the tile's first row they are scaled by the factor. */
static inline void add_values_of(struct running *running, float factor, const float *weights, const int *rows, int first,
                                 int end, const __global float *v, int stride)
{
    float16 sums[VECTORS(VALUE_WIDTH)];
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        sums[c] = first == 0 ? running->sums[c] * factor : running->sums[c];
    }
    for (int t = first; t < end; t++) {
        const __global float *value = v + (size_t)rows[t] * stride;
        float16 weight = weights[t];
#pragma unroll
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            sums[c] = fma16(weight, load_columns(value, c * LANES, VALUE_WIDTH), sums[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        running->sums[c] = sums[c];
    }
}

/* Folds the tile's weights and values into the sums; v is the first head's. Of all heads before the next keys. */
static inline void add_tile(struct step_work *work, int heads, int queries, const __global float *v, int stride, int count)
{
    for (int t = 0; t < count; t += LANES) {
        for (int n = 0; n < heads * queries; n++) {
            add_values_of(&work->running[n], work->factors[n], work->scores[n], work->rows, t, min(t + LANES, count),
                          v + n / queries * VALUE_WIDTH, stride);
        }
    }
}

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

/* One row and `together` heads. */
static inline void step_task(struct step_work *work, int task, int together, STEP_ARGUMENTS)
{
    int head_groups = count_head_groups(sizes.heads, together), row = task / head_groups;
    int first_head = task % head_groups * together, heads = min(together, sizes.heads - first_head);
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    int key = first_head * KEY_WIDTH, value = first_head * VALUE_WIDTH;
    const __global int *lookup = ROW(table, cache_row);
    if (keys > 0 && own_k) {
        size_t own = (size_t)cache_row * sizes.positions_total + position;
        copy_row(ROW(k, own) + key, ROW(own_k, row) + key, heads * KEY_WIDTH);
        copy_row(ROW(v, own) + value, ROW(own_v, row) + value, heads * VALUE_WIDTH);
    }
    for (int h = 0; h < heads; h++) {
        load_step_query(work->queries[h], ROW(q, row) + key + h * KEY_WIDTH, sizes.scale * M_LOG2E_F);
        begin(&work->running[h]);
    }
    for (int tile = 0; tile < keys; tile += TILE) {
        int count = min(keys - tile, TILE);
        for (int t = 0; t < count; t++) {
            work->rows[t] = lookup[tile + t] * sizes.positions_total + tile + t;
        }
        score_tile(work, heads, 1, ROW(k, 0) + key, sizes.k.stride, count);
        for (int h = 0; h < heads; h++) {
            for (int t = 0; relative && t < count; t++) {
                float bias = relative_bias(ROW(relative, first_head + h), sizes.reach, tile + t, position);
                work->scores[h][t] = fma(M_LOG2E_F, bias, work->scores[h][t]);
            }
            weigh_tile(work, h, count);
        }
        add_tile(work, heads, 1, ROW(v, 0) + value, sizes.v.stride, count);
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

CPU_KERNEL void attention_rows_cpu(ATTENTION_ARGUMENTS)
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
