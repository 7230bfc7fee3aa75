/* Blocks of queries times tiles of keys: the shared part of the CPU variants of attention.cl, attention_local.cl
 * and attention_backward.cl. Include file, not a program. Lanes are keys for the scores and columns for the sums.
 * Scores are multiplied by log2(e), so weights are powers of two. result.cl describes the precision of y. */
#include "math/gemm/layout.h"
#include "include/block.cl"
#include "include/exp2.cl"
#include "include/result.cl"
#include "math/ops/arguments.h"

/* With -DHAS_DROPOUT, in training, weights are dropped after their sum has been computed: the weight of key j for
 * query row r in head h is element (r * heads + h, j) of the mask. */
#ifdef HAS_DROPOUT
#include "include/philox.cl"
#define COMMA_DROPOUT_ARGUMENTS , DROPOUT_ARGUMENTS
#define COMMA_DROPOUT_NAMES     , DROPOUT_NAMES
#else
#define COMMA_DROPOUT_ARGUMENTS
#define COMMA_DROPOUT_NAMES
#endif

/* hidden (key rows), additive (sequences * max_queries, ..) and relative (heads, 2 * reach + 1) may be null.
 * block_queries, at most MOST_QUERIES in the CPU variant, decides which work-item computes a query, but does not
 * change the result. */
#define ATTENTION_ARGUMENTS ATTENTION_ARGUMENTS_OF(float)
#define ATTENTION_ARGUMENTS_OF(key_element)                                                                            \
    __global result_element *y, const __global float *q, const __global key_element *k, const __global key_element *v,          \
        const __global int *ranges, const __global int *hidden, const __global float *additive,                        \
        const __global float *relative, struct clf__attention_sizes sizes COMMA_DROPOUT_ARGUMENTS
#define ATTENTION_NAMES y, q, k, v, ranges, hidden, additive, relative, sizes COMMA_DROPOUT_NAMES

#define LANES          16
#define VECTORS(width) (((width) + LANES - 1) / LANES)
#define MOST_QUERIES   CLF__ATTENTION_QUERIES(KEY_WIDTH, VALUE_WIDTH)
#define MOST_ROWS      8 /* queries computed together */
#ifndef TILE_KEYS
#define TILE_KEYS CLF__ATTENTION_KEYS(KEY_WIDTH, VALUE_WIDTH)
#endif

/* Vectors of scores, and of sums, per query that ROWS queries keep in registers: at most sixteen 512-bit
 * vectors in total, or four if a vector takes two registers; in that case eight queries are computed as two
 * times four. */
#if VECTOR_LANES == 16
#define BLOCK_QUERIES       8
#define SCORE_VECTORS(ROWS) 2
#define SUM_VECTORS(ROWS)   ((ROWS) == 8 ? 2 : 4)
#else
#define BLOCK_QUERIES       4
#define SCORE_VECTORS(ROWS) ((ROWS) == 4 ? 1 : 2)
#define SUM_VECTORS(ROWS)   (4 / (ROWS))
#endif

/* The state of a work-item: a packed tile of keys, and its queries. */
struct attention_work {
    float16 keys[VECTORS(TILE_KEYS)][KEY_WIDTH];   /* [v][d]: column d of 16 keys, times the scale */
    int16 unseen[VECTORS(TILE_KEYS)];              /* -1 for hidden keys and beyond the last key of the
                                                    * tile */
    float16 scores[MOST_ROWS][VECTORS(TILE_KEYS)]; /* scores, then weights, of some queries */
    float factors[MOST_ROWS];                      /* scale of the earlier sums relative to the new maximum */
    float maxima[MOST_QUERIES + MOST_ROWS];
    float16 totals[MOST_QUERIES + MOST_ROWS]; /* sums of weights per lane */
    float16 sums[MOST_QUERIES][VECTORS(VALUE_WIDTH)];
};

#include "include/pack_rows.cl"

#define LANE_NUMBERS (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* unseen = -1 for hidden keys and keys beyond count, else 0; hidden (of the tile's keys) may be null. */
static inline void find_unseen(int16 *unseen, const __global int *hidden, int count)
{
    for (int first = 0; first < count; first += LANES) {
        int16 is_unseen = LANE_NUMBERS >= count - first;
        if (hidden) {
            int lanes[LANES];
            for (int i = 0; i < LANES; i++) {
                lanes[i] = hidden[min(first + i, count - 1)];
            }
            is_unseen |= vload16(0, lanes) != 0;
        }
        unseen[first / LANES] = is_unseen;
    }
}

/* Computes the scores of ROWS queries starting at `row` for COUNT vectors of keys. */
#define DEFINE_SCORE(NAME, ROWS, COUNT)                                                                                \
    static inline void NAME(struct attention_work *work, int row, int vector, const __global float *q, size_t stride)  \
    {                                                                                                                  \
        float16 s[ROWS][COUNT];                                                                                        \
        FOR_SUMS(r, ROWS, v, COUNT, s[r][v] = 0.0f)                                                                    \
        for (int d = 0; d < KEY_WIDTH; d++) {                                                                          \
            ADD_INPUT(r, ROWS, v, COUNT, s, MULTIPLY16, float16, work->keys[vector + v][d], float16,                   \
                      q[(row + r) * stride + d])                                                                       \
        }                                                                                                              \
        FOR_SUMS(r, ROWS, v, COUNT, work->scores[row + r][vector + v] = s[r][v])                                       \
    }
#define DEFINE_SCORES(ROWS)                                                                                            \
    DEFINE_SCORE(score_wide_##ROWS, ROWS, SCORE_VECTORS(ROWS))                                                         \
    DEFINE_SCORE(score_one_##ROWS, ROWS, 1)                                                                            \
    static inline void score_##ROWS(struct attention_work *work, int row, const __global float *q, int stride, int vectors) \
    {                                                                                                                  \
        int vector = 0;                                                                                                \
        for (; vector + SCORE_VECTORS(ROWS) <= vectors; vector += SCORE_VECTORS(ROWS)) {                               \
            score_wide_##ROWS(work, row, vector, q, stride);                                                           \
        }                                                                                                              \
        for (; vector < vectors; vector++) {                                                                           \
            score_one_##ROWS(work, row, vector, q, stride);                                                            \
        }                                                                                                              \
    }
#define MULTIPLY16(sum, x, y) sum = fma16(x, y, sum)
#if BLOCK_QUERIES == 8
DEFINE_SCORES(8)
#define SCORE_BLOCK score_8
#else
#define SCORE_BLOCK score_4
#endif
DEFINE_SCORES(4)
DEFINE_SCORES(2)
DEFINE_SCORES(1)

/* Computes the maxima, or sums, of the eight pairs within a and of the eight pairs within b. Three such rounds and
 * a last one within a vector reduce eight vectors. */
#define pair_maxima(a, b) (wide_pair_maxima(WIDE(a), WIDE(b)).v)
static inline struct wide wide_pair_maxima(struct wide a, struct wide b)
{
    float16 even = (float16)(a.v.even, b.v.even), odd = (float16)(a.v.odd, b.v.odd);
    return WIDE(even > odd ? even : odd);
}

#define pair_sums(a, b) (wide_pair_sums(WIDE(a), WIDE(b)).v)
static inline struct wide wide_pair_sums(struct wide a, struct wide b)
{
    return WIDE((float16)(a.v.even, b.v.even) + (float16)(a.v.odd, b.v.odd));
}

#define REDUCE(pair, v) pair(pair(pair(v[0], v[1]), pair(v[2], v[3])), pair(pair(v[4], v[5]), pair(v[6], v[7])))

/* Turns scores into weights relative to the larger of their maximum and the previous one; updates the
 * maxima, totals and factors of the rows. */
static inline void weigh(struct attention_work *work, int row, int rows, int vectors, int is_first)
{
    float16 largest[MOST_ROWS];
#pragma unroll
    for (int i = 0; i < MOST_ROWS; i++) {
        largest[i] = -INFINITY;
#pragma unroll
        for (int vector = 0; i < rows && vector < vectors; vector++) {
            float16 score = work->scores[i][vector];
            largest[i] = score > largest[i] ? score : largest[i];
        }
    }
    float16 pairs = REDUCE(pair_maxima, largest);
    float8 maxima = pairs.even > pairs.odd ? pairs.even : pairs.odd;
    float8 before = is_first ? (float8)(-INFINITY) : vload8(0, work->maxima + row);
    maxima = before > maxima ? before : maxima;
    vstore8(maxima, 0, work->maxima + row);
    /* The maximum of a query that has seen no key yet is -inf: subtracting 0 instead makes the weights 0, not NaN. */
    float8 subtracted = maxima == -INFINITY ? (float8)(0.0f) : maxima;
    vstore8(exp2_16((float16)(before - subtracted, before - subtracted)).lo, 0, work->factors);
    float offsets[MOST_ROWS];
    vstore8(subtracted, 0, offsets);
#pragma unroll 1
    for (int i = 0; i < rows; i++) {
        float16 total = is_first ? (float16)(0.0f) : work->totals[row + i] * work->factors[i];
#pragma unroll
        for (int vector = 0; vector < vectors; vector++) {
            float16 weight = exp2_16(work->scores[i][vector] - offsets[i]);
            total += weight;
            work->scores[i][vector] = weight;
        }
        work->totals[row + i] = total;
    }
}

/* Like weigh(); full tiles, which dominate in long sequences, have a constant number of vectors, so the loop is
 * unrolled. */
static inline void weigh_rows(struct attention_work *work, int row, int rows, int vectors, int is_first)
{
    if (rows == MOST_ROWS && vectors == VECTORS(TILE_KEYS)) {
        weigh(work, row, MOST_ROWS, VECTORS(TILE_KEYS), is_first);
    } else {
        weigh(work, row, rows, vectors, is_first);
    }
}

#ifdef HAS_DROPOUT
/* Drops weights of a row for the keys starting at `key`, a multiple of 64. */
static inline void drop_weights(float16 *weights, int key, int vectors, int row, DROPOUT_ARGUMENTS)
{
    for (int vector = 0; vector < vectors; vector += 4) {
        float16 kept[4];
        dropout_block(kept, (key + vector * LANES) / 64, row, DROPOUT_NAMES);
        for (int i = 0; i < 4; i++) {
            weights[vector + i] *= kept[i];
        }
    }
}
#endif

/* sums = sums * factor + the weighted values of count keys: ROWS queries, with weights starting at `first`,
 * COUNT vectors of columns starting at c. */
#define DEFINE_ADD(NAME, ROWS, COUNT)                                                                                  \
    static inline void NAME(struct attention_work *work, int row, int first, int c, const __global float *v_rows,      \
                            int stride, int count, int is_first)                                                       \
    {                                                                                                                  \
        const float *weights = (const float *)work->scores[first];                                                     \
        float16 s[ROWS][COUNT];                                                                                        \
        FOR_SUMS(r, ROWS, v, COUNT,                                                                                    \
                 s[r][v] = is_first ? (float16)(0.0f) : work->sums[row + r][c + v] * work->factors[first + r])         \
        for (int j = 0; j < count; j++, v_rows += stride) {                                                            \
            ADD_INPUT(r, ROWS, v, COUNT, s, MULTIPLY16, float16, load_columns(v_rows, (c + v) * LANES, VALUE_WIDTH),   \
                      float16, (float16)(weights[r * TILE_KEYS + j]))                                                  \
        }                                                                                                              \
        FOR_SUMS(r, ROWS, v, COUNT, work->sums[row + r][c + v] = s[r][v])                                              \
    }
#define DEFINE_ADDS(ROWS)                                                                                              \
    DEFINE_ADD(add_wide_##ROWS, ROWS, SUM_VECTORS(ROWS))                                                               \
    DEFINE_ADD(add_one_##ROWS, ROWS, 1)                                                                                \
    static inline void add_##ROWS(struct attention_work *work, int row, int first, const __global float *v, int stride, \
                                  int count, int is_first)                                                             \
    {                                                                                                                  \
        int c = 0;                                                                                                     \
        for (; c + SUM_VECTORS(ROWS) <= VECTORS(VALUE_WIDTH); c += SUM_VECTORS(ROWS)) {                                \
            add_wide_##ROWS(work, row, first, c, v, stride, count, is_first);                                          \
        }                                                                                                              \
        for (; c < VECTORS(VALUE_WIDTH); c++) {                                                                        \
            add_one_##ROWS(work, row, first, c, v, stride, count, is_first);                                           \
        }                                                                                                              \
    }
#if BLOCK_QUERIES == 8
DEFINE_ADDS(8)
#define ADD_BLOCK add_8
#else
#define ADD_BLOCK add_4
#endif
DEFINE_ADDS(4)
DEFINE_ADDS(2)
DEFINE_ADDS(1)

/* Queries are computed in groups of eight, the rest in groups of four, two and one; each query has its own
 * chain of sums in any group. */
static inline int rows_together(int left)
{
    return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

static inline void score_rows(struct attention_work *work, const __global float *q, int stride, int rows, int vectors)
{
    switch (rows) {
    case 1: score_1(work, 0, q, stride, vectors); break;
    case 2: score_2(work, 0, q, stride, vectors); break;
    case 4: score_4(work, 0, q, stride, vectors); break;
    default:
        for (int row = 0; row < MOST_ROWS; row += BLOCK_QUERIES) {
            SCORE_BLOCK(work, row, q, stride, vectors);
        }
    }
}

static inline void add_values(struct attention_work *work, int row, int rows, const __global float *v, int stride, int count,
                              int is_first)
{
    switch (rows) {
    case 1: add_1(work, row, 0, v, stride, count, is_first); break;
    case 2: add_2(work, row, 0, v, stride, count, is_first); break;
    case 4: add_4(work, row, 0, v, stride, count, is_first); break;
    default:
        for (int first = 0; first < MOST_ROWS; first += BLOCK_QUERIES) {
            ADD_BLOCK(work, row + first, first, v, stride, count, is_first);
        }
    }
}

/* y = sums / total for count <= MOST_ROWS rows, zeros for a row that has seen no key. */
static inline void finish_rows(__global result_element *y, int stride, const struct attention_work *work, int row,
                               int count)
{
    const float16 *totals = work->totals + row;
    float16 pairs = REDUCE(pair_sums, totals);
    float8 sums = pairs.even + pairs.odd;
    float shares[MOST_ROWS];
    vstore8(sums == 0.0f ? (float8)(0.0f) : 1.0f / sums, 0, shares);
    for (int i = 0; i < count; i++, y += stride) {
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            store_result16(work->sums[row + i][c] * shares[i], y + c * LANES, min(LANES, VALUE_WIDTH - c * LANES));
        }
    }
}

/* Masks the scores of `rows` queries starting at `query`, for vectors of keys starting at `key`. Query `query`
 * sees keys up to `last`; with `causal` each next query sees one more. bias (of the head) and terms (row
 * of the first query) may be null. */
static inline void mask_rows(float16 (*scores)[VECTORS(TILE_KEYS)], const int16 *unseen, int query, int rows, int key,
                             int vectors, int keys, int last, int causal, const __global float *bias, int reach,
                             const __global float *terms, int terms_stride)
{
    for (int row = 0; row < rows; row++) {
        for (int vector = 0; vector < vectors; vector++) {
            int first = key + vector * LANES;
            float16 score = scores[row][vector];
            if (bias) {
                float lanes[LANES];
                for (int j = 0; j < LANES; j++) {
                    lanes[j] = bias[clamp(first + j - query - row + reach, 0, 2 * reach)];
                }
                score = fma16((float16)(M_LOG2E_F), vload16(0, lanes), score);
            }
            if (terms) {
                float16 term = load_columns(terms + (size_t)row * terms_stride, first, keys);
                score = fma16((float16)(M_LOG2E_F), term, score);
            }
            int16 is_later = causal ? LANE_NUMBERS + first > last + row : (int16)(0);
            scores[row][vector] = (unseen[vector] | is_later) != 0 ? (float16)(-INFINITY) : score;
        }
    }
}
