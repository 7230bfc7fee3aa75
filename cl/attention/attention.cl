/* Scaled dot-product attention in one pass. For each sequence, head h and query i of it, over its keys j:
 *
 *     s[j] = scale * q[i] . k[j] + relative[h][clamp(j - i, -R, R) + R] + additive[i][j], -inf if i must not see j
 *     y[i] = sum_j exp(s[j] - m) v[j] / sum_j exp(s[j] - m), m = max_j s[j]; zeros if every s[j] is -inf
 *
 * q (query rows, heads * KEY_WIDTH), k (key rows, heads * KEY_WIDTH), v (key rows, heads * VALUE_WIDTH), y
 * (query rows, heads * VALUE_WIDTH); ranges (sequences, 4) of { first query, queries, first key, keys }.
 * Keys are processed in tiles from the first one on, with a running maximum and sum, so a query's result
 * depends only on its sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT for kernels that drop weights;
 * RESULT_PRECISION (result.cl); the GPU variant has IS_ALIGNED if every fourth column of all of q, k and v
 * starts on 16 bytes. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#include "include/attention_blocks.cl"

/* ---- CPU variant: a work-item computes block_queries queries of one head of one sequence ---- */

CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        attention_task(&work, task, y, q, k, v, ranges, hidden, additive, relative, sizes COMMA_DROPOUT_NAMES);
    }
}

/* ---- GPU variant ----
 *
 * A group computes QUERIES queries of one head of one sequence and up to 64 value columns, with keys in
 * tiles of 64. Each work-item holds four queries' scores of four keys, and their sums of four columns: 16
 * products for every two loads of four floats from local memory. Queries and keys are loaded there by
 * DEPTH columns, values by DEPTH rows, and during the computation of a chunk the next one is loaded into
 * registers. Between the two multiplications the scores are in local memory, where four work-items per
 * query mask them and turn them into weights.
 *
 * A work-item's queries start at 4 * ROW_PLACE, its keys and columns at 4 * PLACE: neighbours load 64 and
 * 128 contiguous bytes from local memory, and with 32 keys or columns half of a group's sub-groups are
 * free. */
#define ITEMS       TILE_GROUP
#define QUERIES     CLF__BLOCK_QUERIES
#define KEYS        CLF__BLOCK_KEYS /* of a tile */
#define DEPTH       CLF__BLOCK_DEPTH
#define KEY_PITCH   (KEYS + 4) /* stride of a column of keys: four columns are half of the banks apart */
#define QUERY_PITCH (QUERIES + 4)
#define STAGE       CLF__BLOCK_STAGE /* floats of a chunk; a chunk of values is smaller */
#define SLICES      ((VALUE_WIDTH + 63) / 64)
#define SLICE       (((VALUE_WIDTH + SLICES - 1) / SLICES + 3) / 4 * 4) /* columns of a group's sums */

#define ITEM      ((int)get_local_id(0))
#define ROW_PLACE (ITEM % 4 + ITEM / 64 * 4)
#define PLACE     (ITEM / 4 % 16)

/* A fast function on devices where it is known to be accurate, and to be 0 at -inf. */
#if defined(__NV_CL_C_VERSION) || defined(__AMDGCN__)
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif

/* Four queries' values, for each of four keys or columns. */
struct block {
    float4 s0, s1, s2, s3;
};

/* block += the queries' values times the values of the keys or columns. */
static inline void add_outer(struct block *block, float4 queries, float4 others)
{
    block->s0 = fma(queries, (float4)(others.x), block->s0);
    block->s1 = fma(queries, (float4)(others.y), block->s1);
    block->s2 = fma(queries, (float4)(others.z), block->s2);
    block->s3 = fma(queries, (float4)(others.w), block->s3);
}

/* A work-item's prefetch registers for a chunk: fours of keys k and queries q, or of values k. */
struct chunk {
    float4 k0, k1, q;
};
#define EACH_FOUR(DO) DO(0) DO(1)
#if KEYS * DEPTH != 2 * 4 * ITEMS
#error "a work-item loads two fours of a chunk"
#endif

/* The rows of a task: its queries, and the keys and values of its sequence. */
struct sources {
    const __global float *q, *k, *v;
    int q_stride, k_stride, v_stride, count, columns; /* count: of queries, columns: of values */
};

#define GLOBAL_FOUR(p) (*(const __global float4 *)(p))
#define LOCAL_FOUR(p)  (*(__local float4 *)(p))
#define READ_FOUR(p)   (*(const __local float4 *)(p))

/* For queries and keys a work-item loads four columns of row FETCH_ROW and of the row ITEMS / 4 further:
 * 16 neighbouring rows of 32 contiguous bytes, whose columns are in different banks. */
#define FETCH_ROW    (ITEM % 16 + ITEM / 32 % (ITEMS / 64) * 16)
#define FETCH_COLUMN ((ITEM / 16 % 2 + ITEM / (ITEMS / 2) * 2) * 4)

/* Loads columns d .. d + DEPTH - 1 of the queries and of the `width` keys from `tile` on. Another row or
 * column replaces those beyond the last; its results are not used. */
static inline void fetch_products(struct chunk *chunk, const struct sources *from, int tile, int width, int d)
{
#ifdef IS_ALIGNED
    int row = FETCH_ROW, column = min(d + FETCH_COLUMN, KEY_WIDTH - 4);
    const __global float *k = from->k + (size_t)tile * from->k_stride + column;
#define FETCH_KEY(i) chunk->k##i = GLOBAL_FOUR(k + min(row + i * (ITEMS / 4), width - 1) * from->k_stride);
    EACH_FOUR(FETCH_KEY)
    chunk->q = GLOBAL_FOUR(from->q + min(row, from->count - 1) * from->q_stride + column);
#endif
}

/* stage = the columns, of keys and then of queries. */
static inline void put_products(__local float *stage, const struct chunk *chunk, const struct sources *from, int tile,
                                int width, int d)
{
#ifdef IS_ALIGNED
    __local float *k = stage + FETCH_COLUMN * KEY_PITCH + FETCH_ROW;
    __local float *q = stage + DEPTH * KEY_PITCH + FETCH_COLUMN * QUERY_PITCH + FETCH_ROW;
#define PUT_KEY(i)                                                                                                     \
    k[i * (ITEMS / 4)] = chunk->k##i.x;                                                                                \
    k[i * (ITEMS / 4) + KEY_PITCH] = chunk->k##i.y;                                                                    \
    k[i * (ITEMS / 4) + 2 * KEY_PITCH] = chunk->k##i.z;                                                                \
    k[i * (ITEMS / 4) + 3 * KEY_PITCH] = chunk->k##i.w;
    EACH_FOUR(PUT_KEY)
    q[0] = chunk->q.x;
    q[QUERY_PITCH] = chunk->q.y;
    q[2 * QUERY_PITCH] = chunk->q.z;
    q[3 * QUERY_PITCH] = chunk->q.w;
#else
    int column = ITEM % DEPTH, d_column = min(d + column, KEY_WIDTH - 1);
#pragma unroll 1
    for (int row = ITEM / DEPTH; row < KEYS; row += ITEMS / DEPTH) {
        stage[column * KEY_PITCH + row] = from->k[(size_t)(tile + min(row, width - 1)) * from->k_stride + d_column];
    }
#pragma unroll 1
    for (int row = ITEM / DEPTH; row < QUERIES; row += ITEMS / DEPTH) {
        stage[DEPTH * KEY_PITCH + column * QUERY_PITCH + row] =
            from->q[(size_t)min(row, from->count - 1) * from->q_stride + d_column];
    }
#endif
}

/* Values: DEPTH rows from `key` on, of which `width` exist. The last row replaces those beyond it, with
 * weights of 0. */
static inline void fetch_values(struct chunk *chunk, const struct sources *from, int key, int width)
{
#ifdef IS_ALIGNED
    int row = ITEM / 16;
    const __global float *v = from->v + (size_t)key * from->v_stride + min(ITEM % 16 * 4, from->columns - 4);
#define FETCH_VALUE(i) chunk->k##i = GLOBAL_FOUR(v + min(row + i * (ITEMS / 16), width - 1) * from->v_stride);
    EACH_FOUR(FETCH_VALUE)
#endif
}

/* stage (DEPTH, 64) = the values. */
static inline void put_values(__local float *stage, const struct chunk *chunk, const struct sources *from, int key,
                              int width)
{
#ifdef IS_ALIGNED
#define PUT_VALUE(i) LOCAL_FOUR(stage + (ITEM + i * ITEMS) * 4) = chunk->k##i;
    EACH_FOUR(PUT_VALUE)
#else
    int column = min(ITEM % 64, from->columns - 1);
#pragma unroll 1
    for (int row = ITEM / 64; row < DEPTH; row += ITEMS / 64) {
        stage[row * 64 + ITEM % 64] = from->v[(size_t)(key + min(row, width - 1)) * from->v_stride + column];
    }
#endif
}

/* scores += the products of a chunk's first `columns` columns, in order. */
static inline void add_products(struct block *scores, const __local float *stage, int columns)
{
    const __local float *k = stage + PLACE * 4, *q = stage + DEPTH * KEY_PITCH + ROW_PLACE * 4;
#pragma unroll 2
    for (int d = 0; d < columns; d++) {
        add_outer(scores, READ_FOUR(q + d * QUERY_PITCH), READ_FOUR(k + d * KEY_PITCH));
    }
}

/* weights (KEYS, QUERIES) = scores * scale. */
static inline void put_scores(__local float *weights, const struct block *scores, float scale)
{
    __local float *to = weights + PLACE * 4 * QUERIES + ROW_PLACE * 4;
    LOCAL_FOUR(to) = scores->s0 * scale;
    LOCAL_FOUR(to + QUERIES) = scores->s1 * scale;
    LOCAL_FOUR(to + 2 * QUERIES) = scores->s2 * scale;
    LOCAL_FOUR(to + 3 * QUERIES) = scores->s3 * scale;
}

/* sums += the weighted values of a chunk, in order. */
static inline void sum_values(struct block *sums, const __local float *weights, const __local float *stage)
{
    const __local float *weight = weights + ROW_PLACE * 4, *value = stage + PLACE * 4;
#pragma unroll 2
    for (int j = 0; j < DEPTH; j++) {
        add_outer(sums, READ_FOUR(weight + j * QUERIES), READ_FOUR(value + j * 64));
    }
}

/* sums *= the factor of each query. */
static inline void rescale(struct block *sums, const __local float *shares)
{
    float4 own = READ_FOUR(shares + ROW_PLACE * 4);
    sums->s0 *= own;
    sums->s1 *= own;
    sums->s2 *= own;
    sums->s3 *= own;
}

/* ---- between the multiplications: four work-items per query, with 16 keys of a tile each ---- */

#define PART (KEYS / 4)

/* The query whose weights a work-item computes, the last key that it sees, and its masks: hidden, bias
 * (the head's) and terms (the query's) may be null. */
struct view {
    int query, last, reach;
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* Adds the masks to the scores of one query for a part's keys, from `key` on. Scores are multiplied by
 * log2(e). */
static inline void mask_part(__local float *scores, int key, const struct view *view)
{
#pragma unroll 1
    for (int j = 0; j < PART; j++, key++) {
        float score = -INFINITY;
        if (key <= view->last && !(view->hidden && view->hidden[key])) {
            score = scores[j * QUERIES];
            if (view->bias) {
                score = fma(M_LOG2E_F, view->bias[clamp(key - view->query + view->reach, 0, 2 * view->reach)], score);
            }
            if (view->terms) {
                score = fma(M_LOG2E_F, view->terms[key], score);
            }
        }
        scores[j * QUERIES] = score;
    }
}

#define FOUR_KEYS(scores)                                                                                              \
    (float4)((scores)[0], (scores)[QUERIES], (scores)[2 * QUERIES], (scores)[3 * QUERIES])

static inline float find_largest(const __local float *scores)
{
    float4 largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < PART; j += 4) {
        largest = fmax(largest, FOUR_KEYS(scores + j * QUERIES));
    }
    return max4(largest);
}

/* scores = 2^(scores - subtracted); returns their sum. */
static inline float weigh_part(__local float *scores, float subtracted)
{
    float4 sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < PART; j += 4, scores += 4 * QUERIES) {
        float4 below = FOUR_KEYS(scores) - subtracted;
        float4 weights = (float4)(EXP2(below.x), EXP2(below.y), EXP2(below.z), EXP2(below.w));
        sum += weights;
        scores[0] = weights.x;
        scores[QUERIES] = weights.y;
        scores[2 * QUERIES] = weights.z;
        scores[3 * QUERIES] = weights.w;
    }
    return sum4(sum);
}

#ifdef HAS_DROPOUT
/* Drops weights of a part's keys, from `key` on; row is the query's row in the mask. */
static inline void drop_part(__local float *weights, int key, int row, DROPOUT_ARGUMENTS)
{
#pragma unroll 1
    for (int j = 0; j < PART; j += 4, weights += 4 * QUERIES) {
        float4 kept = dropout_quad((key + j) / 4, row, DROPOUT_NAMES);
        weights[0] *= kept.x;
        weights[QUERIES] *= kept.y;
        weights[2 * QUERIES] *= kept.z;
        weights[3 * QUERIES] *= kept.w;
    }
}
#endif

/* The values of a query's four work-items, of which one is `place`. */
#define PARTS_OF(parts, place)                                                                                         \
    (float4)((parts)[place], (parts)[place + QUERIES], (parts)[place + 2 * QUERIES], (parts)[place + 3 * QUERIES])

/* A query's maximum so far, and the sum of the weights of a work-item's part of all tiles. */
struct running {
    float maximum, total;
};

/* y = sums / total. */
static inline void put_outputs(__global result_element *y, int y_stride, int count, int columns, struct block *sums, float total,
                               __local float *parts, __local float *shares)
{
    int item = ITEM, column = PLACE * 4, row = ROW_PLACE * 4;
    parts[item] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < QUERIES) {
        float all = sum4(PARTS_OF(parts, item));
        shares[item] = all == 0.0f ? 0.0f : 1.0f / all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    rescale(sums, shares);
    __global result_element *to = y + (size_t)row * y_stride + column;
    /* Rotates the vectors so that each query is first in turn: in an unrolled loop compilers keep four
     * addresses in registers. */
#pragma unroll 1
    for (int i = 0; i < 4 && row + i < count && column < columns; i++, to += y_stride) {
        store_result_quad((float4)(sums->s0.x, sums->s1.x, sums->s2.x, sums->s3.x), to, columns - column);
        sums->s0 = sums->s0.yzwx;
        sums->s1 = sums->s1.yzwx;
        sums->s2 = sums->s2.yzwx;
        sums->s3 = sums->s3.yzwx;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* memory: STAGE + KEYS * QUERIES + ITEMS + QUERIES floats. A parameter, because PoCL 3.1 gives arrays that
 * are declared in a kernel of this size one address for all its threads. */
GPU_KERNEL_OF(ITEMS) void attention_forward_gpu(__local float4 *memory, ATTENTION_ARGUMENTS)
{
    __local float *stage = (__local float *)memory, *weights = stage + STAGE;
    __local float *parts = weights + KEYS * QUERIES, *shares = parts + ITEMS;
    int item = ITEM, place = item % QUERIES, own_key = item / QUERIES * PART;
    __local float *own = weights + own_key * QUERIES + place; /* the scores that this work-item turns into
                                                               * weights */
    int blocks = (sizes.max_queries + QUERIES - 1) / QUERIES;
    int tasks = sizes.sequences * sizes.heads * blocks * SLICES;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % SLICES * SLICE, block = task / SLICES;
        int sequence = block / blocks / sizes.heads, head = block / blocks % sizes.heads;
        int first = (blocks - 1 - block % blocks) * QUERIES;
        const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
        int queries = range[1], first_key = range[2], keys = range[3];
        int count = min(queries - first, QUERIES);
        if (count <= 0) {
            continue;
        }
        size_t query_row = (size_t)(range[0] + first);
        struct sources from = {ROW(q, query_row) + head * KEY_WIDTH,
                               ROW(k, first_key) + head * KEY_WIDTH,
                               ROW(v, first_key) + head * VALUE_WIDTH + slice,
                               sizes.q.stride,
                               sizes.k.stride,
                               sizes.v.stride,
                               count,
                               min(SLICE, VALUE_WIDTH - slice)};
        int shift = keys - queries, end = sizes.causal ? min(first + count + shift, keys) : keys;
        int query = min(first + place, queries - 1);
        struct view view = {query, sizes.causal ? min(query + shift, keys - 1) : keys - 1, sizes.reach, 0, 0, 0};
        view.hidden = hidden ? hidden + sizes.hidden.offset + first_key : 0;
        view.bias = relative ? ROW(relative, head) : 0;
        if (additive) {
            view.terms = ROW(additive, (size_t)sequence * sizes.max_queries + query);
        }
        /* Keys that all of the queries see without masks. */
        int plain = hidden || relative || additive ? 0 : sizes.causal ? min(first + shift + 1, keys) : keys;
        struct running running = {-INFINITY, 0.0f};
        struct block sums = {0.0f, 0.0f, 0.0f, 0.0f};
        struct chunk next;
        if (end > 0) {
            fetch_products(&next, &from, 0, min(end, KEYS), 0);
            put_products(stage, &next, &from, 0, min(end, KEYS), 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int tile = 0; tile < end; tile += KEYS) {
            int width = min(end - tile, KEYS), has_keys = PLACE * 4 < width;
            struct block scores = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
            for (int d = DEPTH; d < KEY_WIDTH; d += DEPTH) {
                fetch_products(&next, &from, tile, width, d);
                if (has_keys) {
                    add_products(&scores, stage, DEPTH);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                put_products(stage, &next, &from, tile, width, d);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            fetch_values(&next, &from, tile, width);
            if (has_keys) {
                add_products(&scores, stage, (KEY_WIDTH - 1) % DEPTH + 1);
                put_scores(weights, &scores, sizes.scale * M_LOG2E_F);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            put_values(stage, &next, &from, tile, width);
            int has_part = own_key < width;
            parts[item] = -INFINITY;
            if (has_part) {
                if (tile + KEYS > plain) {
                    mask_part(own, tile + own_key, &view);
                }
                parts[item] = find_largest(own);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            float largest = fmax(running.maximum, max4(PARTS_OF(parts, place)));
            /* For a query that has seen no key yet, subtracting 0 instead of -inf gives weights 0, not
             * NaN. */
            float subtracted = largest == -INFINITY ? 0.0f : largest;
            float factor = EXP2(running.maximum - subtracted);
            running.maximum = largest;
            running.total *= factor;
            if (item < QUERIES) {
                shares[item] = factor;
            }
            if (has_part) {
                running.total += weigh_part(own, subtracted);
#ifdef HAS_DROPOUT
                drop_part(own, tile + own_key, (range[0] + query) * sizes.heads + head, DROPOUT_NAMES);
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            rescale(&sums, shares);
            int key = 0, has_columns = PLACE * 4 < from.columns;
#pragma unroll 1
            for (; key + DEPTH < width; key += DEPTH) {
                int after = key + DEPTH;
                fetch_values(&next, &from, tile + after, width - after);
                if (has_columns) {
                    sum_values(&sums, weights + key * QUERIES, stage);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                put_values(stage, &next, &from, tile + after, width - after);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            int following = min(end - tile - KEYS, KEYS); /* keys of the next tile, or none */
            if (following > 0) {
                fetch_products(&next, &from, tile + KEYS, following, 0);
            }
            if (has_columns) {
                sum_values(&sums, weights + key * QUERIES, stage);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (following > 0) {
                put_products(stage, &next, &from, tile + KEYS, following, 0);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        put_outputs(ROW(y, query_row) + head * VALUE_WIDTH + slice, sizes.y.stride, count, from.columns, &sums,
                    running.total, parts, shares);
    }
}
