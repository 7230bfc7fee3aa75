/* Scaled dot-product attention in one pass. For each sequence, head h and query i of it, over its keys j:
 *
 *     s[j] = scale * q[i] . k[j] + relative[h][clamp(j - i, -R, R) + R] + additive[i][j], -inf where i must
 * not look y[i] = sum_j exp(s[j] - m) v[j] / sum_j exp(s[j] - m), m = max_j s[j]; zeros where every s[j] is
 * -inf
 *
 * q (query rows, heads * KEY_WIDTH), k (key rows, heads * KEY_WIDTH), v (key rows, heads * VALUE_WIDTH),
 * y (query rows, heads * VALUE_WIDTH); spans (sequences, 4) of { first query, queries, first key, keys }.
 * Keys are taken in tiles from the first one on, with a running maximum and sum, so a query's result depends
 * on nothing but its own sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT for kernels that drop weights. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#include "attention_blocks.cl"

/* ---- the CPU form: a work-item takes block_queries queries of one head of one sequence ---- */

CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sequences * heads * ((max_queries + block_queries - 1) / block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        attention_task(&work, task, ATTENTION_NAMES);
    }
}

/* ---- the GPU form: tiles of keys and values through local memory ---- */

#define BLOCK   32 /* queries of a group, and keys of a tile */
#define CHUNK   (KEY_WIDTH < 32 ? KEY_WIDTH : 32)
#define SLICES  ((VALUE_WIDTH + 63) / 64)
#define SLICE   ((VALUE_WIDTH + SLICES - 1) / SLICES) /* value columns of a group */
#define COLUMNS ((SLICE + 7) / 8)                     /* of them, those of a work-item */
/* The columns' sums have names, not an index: Intel's compiler leaves an array of them in memory. */
#define IF_COLUMN(c, DO)                                                                                     \
    if (c < COLUMNS) {                                                                                       \
        DO(c)                                                                                                \
    }
#define EACH_COLUMN(DO)                                                                                      \
    IF_COLUMN(0, DO)                                                                                         \
    IF_COLUMN(1, DO)                                                                                         \
    IF_COLUMN(2, DO)                                                                                         \
    IF_COLUMN(3, DO) IF_COLUMN(4, DO) IF_COLUMN(5, DO) IF_COLUMN(6, DO) IF_COLUMN(7, DO)
#define QK_TILE (2 * BLOCK * (CHUNK + 1))
#define V_TILE  (BLOCK * COLUMNS * 8)

/* tile (BLOCK, CHUNK + 1) = scale * columns 0 .. width - 1 of up to BLOCK rows, zeros elsewhere. */
static inline void load_chunk(__local float *tile, const __global float *rows, int stride, int count,
                              int width, float scale)
{
#pragma unroll 1
    for (int e = (int)get_local_id(0); e < BLOCK * CHUNK; e += GROUP) {
        int row = e / CHUNK, column = e % CHUNK;
        tile[row * (CHUNK + 1) + column] =
            row < count && column < width ? scale * rows[(size_t)row * stride + column] : 0.0f;
    }
}

/* tile (BLOCK, COLUMNS * 8) = columns 0 .. width - 1 of count rows, zeros elsewhere. */
static inline void load_values(__local float *tile, const __global float *rows, int stride, int count,
                               int width)
{
#pragma unroll 1
    for (int e = (int)get_local_id(0); e < V_TILE; e += GROUP) {
        int row = e / (COLUMNS * 8), column = e % (COLUMNS * 8);
        tile[e] =
            row < count && column < width && column < SLICE ? rows[(size_t)row * stride + column] : 0.0f;
    }
}

/* A query's scores of every eighth key into its row. */
static inline void put_scores(__local float *row, float4 scores)
{
    row[0] = scores.x;
    row[8] = scores.y;
    row[16] = scores.z;
    row[24] = scores.w;
}

/* One column of up to four rows. */
static inline void put_outputs(__global float *column, int stride, int count, float4 values)
{
    if (count > 0) {
        column[0] = values.x;
    }
    if (count > 1) {
        column[stride] = values.y;
    }
    if (count > 2) {
        column[2 * (size_t)stride] = values.z;
    }
    if (count > 3) {
        column[3 * (size_t)stride] = values.w;
    }
}

/* The query whose maximum and sum a work-item keeps, its row in the mask of dropout, the last key that it sees, and what
 * masks it: hidden, bias (the head's) and terms (the query's) may be null. */
struct view {
    int query, dropout_row, last, reach;
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* The scores of half a tile's keys, `key` .., for one query: adds what the masks say and returns the largest. */
static inline float mask_half_row(__local float *scores, int key, const struct view *view)
{
    float largest = -INFINITY;
#pragma unroll 1
    for (int j = 0; j < BLOCK / 2; j++, key++) {
        float score = -INFINITY;
        if (key <= view->last && !(view->hidden && view->hidden[key])) {
            score = scores[j];
            if (view->bias) {
                score += view->bias[clamp(key - view->query + view->reach, 0, 2 * view->reach)];
            }
            if (view->terms) {
                score += view->terms[key];
            }
        }
        scores[j] = score;
        largest = fmax(largest, score);
    }
    return largest;
}

/* scores = exp(scores - subtracted); returns their sum. */
static inline float weigh_half_row(__local float *scores, float subtracted)
{
    float sum = 0.0f;
#pragma unroll 2
    for (int j = 0; j < BLOCK / 2; j++) {
        float weight = exp(scores[j] - subtracted);
        sum += weight;
        scores[j] = weight;
    }
    return sum;
}

#ifdef HAS_DROPOUT
/* Drops the weights of half a tile's keys, `key` .., in a row of the mask. */
static inline void drop_half_row(__local float *weights, int key, int row, DROPOUT_ARGUMENTS)
{
#pragma unroll 1
    for (int j = 0; j < BLOCK / 2; j += 4) {
        float4 kept = dropout_quad((key + j) / 4, row, DROPOUT_NAMES);
        weights[j] *= kept.x;
        weights[j + 1] *= kept.y;
        weights[j + 2] *= kept.z;
        weights[j + 3] *= kept.w;
    }
}
#endif

/* weights (BLOCK, BLOCK + 1) = scale * q kᵀ of up to BLOCK queries and keys, through tiles. */
static inline void score_tile_gpu(__local float *weights, __local float *tiles, const __global float *q, int q_stride,
                                  int count, const __global float *k, int k_stride, int width, float scale)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
    float4 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f; /* a query's scores of four keys */
#pragma unroll 1
    for (int d = 0; d < KEY_WIDTH; d += CHUNK) {
        barrier(CLK_LOCAL_MEM_FENCE);
        load_chunk(tiles, q + d, q_stride, count, KEY_WIDTH - d, scale);
        load_chunk(tiles + QK_TILE / 2, k + d, k_stride, width, KEY_WIDTH - d, 1.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 2
        for (int e = 0; e < CHUNK; e++) {
            const __local float *query_column = tiles + row4 * (CHUNK + 1) + e;
            const __local float *key_column = tiles + QK_TILE / 2 + column * (CHUNK + 1) + e;
            float4 four_keys = (float4)(key_column[0], key_column[8 * (CHUNK + 1)], key_column[16 * (CHUNK + 1)],
                                        key_column[24 * (CHUNK + 1)]);
            s0 = fma((float4)(query_column[0]), four_keys, s0);
            s1 = fma((float4)(query_column[CHUNK + 1]), four_keys, s1);
            s2 = fma((float4)(query_column[2 * (CHUNK + 1)]), four_keys, s2);
            s3 = fma((float4)(query_column[3 * (CHUNK + 1)]), four_keys, s3);
        }
    }
    __local float *target = weights + row4 * (BLOCK + 1) + column;
    put_scores(target, s0);
    put_scores(target + BLOCK + 1, s1);
    put_scores(target + 2 * (BLOCK + 1), s2);
    put_scores(target + 3 * (BLOCK + 1), s3);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The maximum and the sum of a query, of which two work-items see half a tile each. */
struct running {
    float maximum, total;
};

/* Masks the scores of the tile's keys and makes weights of them; factors (BLOCK) is what the sums so far shrink by. */
static inline void weigh_tile(struct running *running, __local float *weights, __local float *parts,
                              __local float *sum_parts, __local float *factors, int tile,
                              const struct view *view COMMA_DROPOUT_ARGUMENTS)
{
    int lane = (int)get_local_id(0);
    __local float *half_row = weights + lane / 2 * (BLOCK + 1) + lane % 2 * (BLOCK / 2);
    parts[lane] = mask_half_row(half_row, tile + lane % 2 * (BLOCK / 2), view);
    barrier(CLK_LOCAL_MEM_FENCE);
    float largest = fmax(running->maximum, fmax(parts[lane], parts[lane ^ 1]));
    /* A query that has seen nothing yet: subtracting 0 instead of -inf gives weights 0, not NaN. */
    float subtracted = largest == -INFINITY ? 0.0f : largest;
    float factor = exp(running->maximum - subtracted);
    sum_parts[lane] = weigh_half_row(half_row, subtracted);
#ifdef HAS_DROPOUT
    drop_half_row(half_row, tile + lane % 2 * (BLOCK / 2), view->dropout_row, DROPOUT_NAMES);
#endif
    if (lane % 2 == 0) {
        factors[lane / 2] = factor;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    running->total = running->total * factor + (sum_parts[lane & ~1] + sum_parts[lane | 1]);
    running->maximum = largest;
}

/* Every eighth output column of four queries, a column each. */
struct column_sums {
    float4 s0, s1, s2, s3, s4, s5, s6, s7;
};

/* sums = sums * factors + weights times the values of the tile's keys. */
static inline void add_values_gpu(struct column_sums *sums, const __local float *factors, const __local float *weights,
                                  const __local float *values, int width)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
    float4 row_factors = vload4(0, factors + row4);
#define RESCALE(c) sums->s##c *= row_factors;
    EACH_COLUMN(RESCALE)
#pragma unroll 1
    for (int j = 0; j < width; j++) {
        const __local float *weight = weights + row4 * (BLOCK + 1) + j;
        float4 row_weights =
            (float4)(weight[0], weight[BLOCK + 1], weight[2 * (BLOCK + 1)], weight[3 * (BLOCK + 1)]);
        const __local float *value = values + j * COLUMNS * 8 + column;
#define ADD_VALUE(c) sums->s##c = fma(row_weights, (float4)(value[8 * c]), sums->s##c);
        EACH_COLUMN(ADD_VALUE)
    }
}

/* y = sums / total for `count` queries and `width` columns. */
static inline void put_sums(__global float *y, int y_stride, int count, int width, const struct column_sums *sums,
                            float total, __local float *factors)
{
    int lane = (int)get_local_id(0), row4 = lane / 8 * 4, column = lane % 8;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane % 2 == 0) {
        factors[lane / 2] = total == 0.0f ? 0.0f : 1.0f / total;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 shares = vload4(0, factors + row4);
    __global float *out = y + (size_t)row4 * y_stride;
#define PUT_COLUMN(c)                                                                                                  \
    if (column + 8 * c < width) {                                                                                      \
        put_outputs(out + column + 8 * c, y_stride, count - row4, sums->s##c * shares);                                \
    }
    EACH_COLUMN(PUT_COLUMN)
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* A group takes 32 queries of one head of one sequence and up to 64 value columns; work-item (row, column)
 * of 8 x 8 holds four queries, their scores of four keys of a tile of 32, and every eighth output column of
 * them. The scores pass through local memory, where two work-items a query keep its maximum and sum. */
GPU_KERNEL void attention_forward_gpu(ATTENTION_ARGUMENTS)
{
    __local float tiles[QK_TILE > V_TILE ? QK_TILE : V_TILE];
    __local float weights[BLOCK * (BLOCK + 1)];
    __local float parts[GROUP], sum_parts[GROUP], factors[BLOCK];
    int blocks = (max_queries + BLOCK - 1) / BLOCK;
    int tasks = sequences * heads * blocks * SLICES;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % SLICES * SLICE, block = task / SLICES;
        int sequence = block / blocks / heads, head = block / blocks % heads;
        int first = (blocks - 1 - block % blocks) * BLOCK;
        const __global int *span = spans + spans_offset + sequence * 4;
        int queries = span[1], first_key = span[2], keys = span[3];
        int count = min(queries - first, BLOCK);
        if (count <= 0) {
            continue;
        }
        size_t query_row = (size_t)(span[0] + first);
        int end = causal ? min(first + count + keys - queries, keys) : keys;
        int query = first + (int)get_local_id(0) / 2;
        int last = query >= queries ? -1 : causal ? min(query + keys - queries, keys - 1) : keys - 1;
        struct view view = {query, (span[0] + query) * heads + head, last, reach, 0, 0, 0};
        view.hidden = hidden ? hidden + hidden_offset + first_key : 0;
        view.bias = relative ? relative + relative_offset + (size_t)head * relative_stride : 0;
        if (additive) {
            view.terms = additive + additive_offset + ((size_t)sequence * max_queries + query) * additive_stride;
        }
        struct running running = {-INFINITY, 0.0f};
        struct column_sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int tile = 0; tile < end; tile += BLOCK) {
            int width = min(end - tile, BLOCK);
            size_t key_row = (size_t)(first_key + tile);
            score_tile_gpu(weights, tiles, q + q_offset + query_row * q_stride + head * KEY_WIDTH, q_stride, count,
                           k + k_offset + key_row * k_stride + head * KEY_WIDTH, k_stride, width, scale);
            load_values(tiles, v + v_offset + key_row * v_stride + head * VALUE_WIDTH + slice, v_stride, width,
                        VALUE_WIDTH - slice);
            weigh_tile(&running, weights, parts, sum_parts, factors, tile, &view COMMA_DROPOUT_NAMES);
            add_values_gpu(&sums, factors, weights, tiles, width);
        }
        put_sums(y + y_offset + query_row * y_stride + head * VALUE_WIDTH + slice, y_stride, count,
                 min(SLICE, VALUE_WIDTH - slice), &sums, running.total, factors);
    }
}
