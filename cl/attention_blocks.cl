/* The parts of attention.cl's CPU form: included, never built alone. Lanes are keys for the scores and columns for the
 * sums. Scores are in units of log2(e), so that their weights are powers of two. */
#include "exp2.cl"

#define LANES          16
#define VECTORS(width) (((width) + LANES - 1) / LANES)
#define KEYS           128 /* in a tile: between two looks at the running maximum */
#define QUERIES        64  /* the most that a work-item takes */
#define ROWS           8   /* queries whose scores, or sums, are in registers together */

/* What a work-item packs of a tile of keys, and what it keeps of its queries. */
struct work {
    float16 keys[VECTORS(KEYS)][KEY_WIDTH];       /* [.][d]: column d of 16 keys, times the scale */
    int16 unseen[VECTORS(KEYS)];                  /* -1 for hidden keys and beyond the tile's last one */
    float16 scores[ROWS][VECTORS(KEYS)];          /* of ROWS queries, and then their weights */
    float factors[ROWS];                          /* what the new maximum makes of their earlier sums */
    float maxima[QUERIES];
    float16 totals[QUERIES];                      /* of the weights, lane by lane */
    float16 sums[QUERIES][VECTORS(VALUE_WIDTH)];
};

static inline float16 interleave_low(float16 a, float16 b)
{
    return (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7);
}

static inline float16 interleave_high(float16 a, float16 b)
{
    return (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf);
}

/* One of four equal rounds that together transpose 16 rows: to[2 i], to[2 i + 1] = from[i] and from[i + 8] dealt
 * alternately. */
static inline void deal(float16 *to, const float16 *from)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        to[2 * i] = interleave_low(from[i], from[i + 8]);
        to[2 * i + 1] = interleave_high(from[i], from[i + 8]);
    }
}

static inline void transpose16(float16 *rows)
{
    float16 other[16];
    deal(other, rows);
    deal(rows, other);
    deal(other, rows);
    deal(rows, other);
}

/* A line on its way to the second cache. PoCL's prefetch() does nothing, and SPIR has no other. */
#if defined(__SPIR__) || defined(__SPIR64__) || defined(__SPIRV__)
#define FETCH(p) prefetch(p, LANES)
#else
#define FETCH(p) __builtin_prefetch(p, 0, 2)
#endif

/* Fetches rows while others are computed: those of a head lie apart, where the hardware expects none. */
static inline void fetch_rows(const __global float *rows, int stride, int count, int width)
{
    for (int i = 0; i < count; i++) {
        for (int c = 0; c < width; c += LANES) {
            FETCH(rows + (size_t)i * stride + c);
        }
    }
}

/* Columns d .. d + 15 of a row of `width`, zeros beyond it. */
static inline float16 load_columns(const __global float *row, int d, int width)
{
    return d + LANES <= width ? vload16(0, row + d) : load_part(row + d, width - d, 0.0f);
}

/* Packs count <= KEYS keys; the lanes beyond them repeat the last one. */
static inline void pack_keys(struct work *work, const __global float *k, int stride, int count, float scale)
{
    for (int first = 0; first < count; first += LANES) {
        for (int d = 0; d < KEY_WIDTH; d += LANES) {
            float16 tile[LANES];
#pragma unroll
            for (int i = 0; i < LANES; i++) {
                tile[i] = load_columns(k + (size_t)min(first + i, count - 1) * stride, d, KEY_WIDTH);
            }
            transpose16(tile);
#pragma unroll
            for (int i = 0; i < LANES; i++) {
                if (d + i < KEY_WIDTH) {
                    work->keys[first / LANES][d + i] = tile[i] * scale;
                }
            }
        }
    }
}

/* hidden (of the tile's keys) may be null. */
static inline void find_unseen(struct work *work, const __global int *hidden, int count)
{
    for (int first = 0; first < count; first += LANES) {
        int lanes[LANES];
        for (int i = 0; i < LANES; i++) {
            lanes[i] = first + i >= count || (hidden && hidden[first + i]) ? -1 : 0;
        }
        work->unseen[first / LANES] = vload16(0, lanes);
    }
}

/* score[i][vector] = query i . the keys of VECTORS vectors, for eight queries q0 .. q7. */
#define DEFINE_SCORE(COUNT)                                                                                            \
    static inline void score_##COUNT(struct work *work, int vector, const __global float *q0, const __global float *q1, \
                                     const __global float *q2, const __global float *q3, const __global float *q4,     \
                                     const __global float *q5, const __global float *q6, const __global float *q7)     \
    {                                                                                                                  \
        float16 s[ROWS][COUNT];                                                                                        \
        _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                       \
        {                                                                                                              \
            s[i / COUNT][i % COUNT] = 0.0f;                                                                            \
        }                                                                                                              \
        for (int d = 0; d < KEY_WIDTH; d++) {                                                                          \
            float16 query[ROWS] = {q0[d], q1[d], q2[d], q3[d], q4[d], q5[d], q6[d], q7[d]};                            \
            _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                   \
            {                                                                                                          \
                s[i / COUNT][i % COUNT] =                                                                              \
                    fma(query[i / COUNT], work->keys[vector + i % COUNT][d], s[i / COUNT][i % COUNT]);                 \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                       \
        {                                                                                                              \
            work->scores[i / COUNT][vector + i % COUNT] = s[i / COUNT][i % COUNT];                                     \
        }                                                                                                              \
    }
DEFINE_SCORE(1)
DEFINE_SCORE(2)

/* The scores of count <= ROWS queries; further rows repeat the last one. */
static inline void score_rows(struct work *work, const __global float *q, int stride, int count, int vectors)
{
#define QUERY(i) (q + (size_t)min(i, count - 1) * stride)
    const __global float *q0 = q, *q1 = QUERY(1), *q2 = QUERY(2), *q3 = QUERY(3);
    const __global float *q4 = QUERY(4), *q5 = QUERY(5), *q6 = QUERY(6), *q7 = QUERY(7);
    int vector = 0;
    for (; vector + 2 <= vectors; vector += 2) {
        score_2(work, vector, q0, q1, q2, q3, q4, q5, q6, q7);
    }
    if (vector < vectors) {
        score_1(work, vector, q0, q1, q2, q3, q4, q5, q6, q7);
    }
}

/* The larger, or the sum, of pairs within a, and of pairs within b: eight each. Three rounds and a last one within a
 * vector reduce eight vectors. */
static inline float16 pair_maxima(float16 a, float16 b)
{
    float16 even = (float16)(a.even, b.even), odd = (float16)(a.odd, b.odd);
    return even > odd ? even : odd;
}

static inline float16 pair_sums(float16 a, float16 b)
{
    return (float16)(a.even, b.even) + (float16)(a.odd, b.odd);
}

#define REDUCE(pair, v) pair(pair(pair(v[0], v[1]), pair(v[2], v[3])), pair(pair(v[4], v[5]), pair(v[6], v[7])))

/* Scores to weights, below the larger of their maximum and the one before; the rows' maxima, totals and factors. */
static inline void weigh_rows(struct work *work, int row, int vectors, int is_first)
{
    float16 largest[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        largest[i] = -INFINITY;
        for (int vector = 0; vector < vectors; vector++) {
            float16 score = work->scores[i][vector];
            largest[i] = score > largest[i] ? score : largest[i];
        }
    }
    float16 pairs = REDUCE(pair_maxima, largest);
    float8 maxima = pairs.even > pairs.odd ? pairs.even : pairs.odd;
    float8 before = is_first ? (float8)(-INFINITY) : vload8(0, work->maxima + row);
    maxima = before > maxima ? before : maxima;
    vstore8(maxima, 0, work->maxima + row);
    /* A query that has seen nothing yet keeps -inf: subtracting 0 instead makes its weights 0, not NaN. */
    float8 subtracted = maxima == -INFINITY ? (float8)(0.0f) : maxima;
    vstore8(exp2_16((float16)(before - subtracted, before - subtracted)).lo, 0, work->factors);
    float offsets[ROWS];
    vstore8(subtracted, 0, offsets);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        float16 total = is_first ? (float16)(0.0f) : work->totals[row + i] * work->factors[i];
        for (int vector = 0; vector < vectors; vector++) {
            float16 weight = exp2_16(work->scores[i][vector] - offsets[i]);
            total += weight;
            work->scores[i][vector] = weight;
        }
        work->totals[row + i] = total;
    }
}

/* sums = sums * factor + the values of count keys by their weights, for columns of VECTORS vectors from c on. */
#define DEFINE_ADD(COUNT)                                                                                              \
    static inline void add_##COUNT(struct work *work, int row, int c, const __global float *v, int stride, int count,  \
                                   int is_first)                                                                       \
    {                                                                                                                  \
        const float *weights = (const float *)work->scores;                                                            \
        float16 s[ROWS][COUNT];                                                                                        \
        _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                       \
        {                                                                                                              \
            s[i / COUNT][i % COUNT] =                                                                                  \
                is_first ? (float16)(0.0f) : work->sums[row + i / COUNT][c + i % COUNT] * work->factors[i / COUNT];    \
        }                                                                                                              \
        for (int j = 0; j < count; j++, v += stride) {                                                                 \
            float16 values[COUNT];                                                                                     \
            _Pragma("unroll") for (int i = 0; i < COUNT; i++)                                                          \
            {                                                                                                          \
                values[i] = load_columns(v, (c + i) * LANES, VALUE_WIDTH);                                             \
            }                                                                                                          \
            _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                   \
            {                                                                                                          \
                s[i / COUNT][i % COUNT] =                                                                              \
                    fma((float16)(weights[i / COUNT * KEYS + j]), values[i % COUNT], s[i / COUNT][i % COUNT]);         \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("unroll") for (int i = 0; i < ROWS * COUNT; i++)                                                       \
        {                                                                                                              \
            work->sums[row + i / COUNT][c + i % COUNT] = s[i / COUNT][i % COUNT];                                      \
        }                                                                                                              \
    }
DEFINE_ADD(1)
DEFINE_ADD(2)

static inline void add_values(struct work *work, int row, const __global float *v, int stride, int count, int is_first)
{
    int c = 0;
    for (; c + 2 <= VECTORS(VALUE_WIDTH); c += 2) {
        add_2(work, row, c, v, stride, count, is_first);
    }
    if (c < VECTORS(VALUE_WIDTH)) {
        add_1(work, row, c, v, stride, count, is_first);
    }
}

/* y = sums / total for count <= ROWS rows, zeros where a row has seen nothing. */
static inline void finish_rows(__global float *y, int stride, const struct work *work, int row, int count)
{
    const float16 *totals = work->totals + row;
    float16 pairs = REDUCE(pair_sums, totals);
    float8 sums = pairs.even + pairs.odd;
    float shares[ROWS];
    vstore8(sums == 0.0f ? (float8)(0.0f) : 1.0f / sums, 0, shares);
    for (int i = 0; i < count; i++, y += stride) {
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            float16 value = work->sums[row + i][c] * shares[i];
            if ((c + 1) * LANES <= VALUE_WIDTH) {
                vstore16(value, c, y);
            } else {
                store_part(value, y + c * LANES, VALUE_WIDTH - c * LANES);
            }
        }
    }
}
