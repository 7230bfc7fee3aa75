/* A tile of keys for few queries, CPU variant, for attention_step.cl and decoder_layer.cl. Include file, not a
 * program; include it after attention_blocks.cl and cache_element.cl. */

#define STEP_QUERIES CLF__STEP_QUERIES(KEY_WIDTH, VALUE_WIDTH)
#define STEP_STATES  CLF__STEP_STATES(KEY_WIDTH, VALUE_WIDTH) /* queries times heads computed together */
#define PART_KEYS    CLF__PART_KEYS
#define PARTIAL      CLF__PARTIAL_WIDTH(VALUE_WIDTH)

/* The partial result of some keys for a query and head: the sum of their values, weighted by exp(score -
 * maximum), and the total of these weights. */
struct running {
    float16 sums[VECTORS(VALUE_WIDTH)];
    float maximum, total;
};

/* The state of each query of each head; all queries of a head are stored consecutively. Scores are
 * multiplied by log2(e). */
struct step_work {
    float16 queries[STEP_STATES][VECTORS(KEY_WIDTH)];
    struct running running[STEP_STATES];
    struct running earlier[STEP_STATES]; /* result of the previous parts */
    float scores[STEP_STATES][TILE];     /* scores, then weights */
    float factors[STEP_STATES];          /* scale of the earlier sums relative to the new maximum */
    int rows[TILE + LANES];              /* row indices of the tile's keys and values, then of the next tile's first */
    int row_count;
#ifdef HALF_CACHE
    float16 widened[LANES][VECTORS(KEY_WIDTH > VALUE_WIDTH ? KEY_WIDTH : VALUE_WIDTH)]; /* a head's columns of some rows */
#endif
};

/* Keys and values in a cache, starting at the columns of a head. */
struct cached {
    const __global cache_element *k, *v;
    int k_stride, v_stride;
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

/* The columns of a head in LANES rows of the tile, starting at row `first`; the last row repeats beyond the end. */
struct head_rows {
    const struct step_work *work;
    const __global cache_element *cache;
    int stride, first, last;
};

/* The address of row i for the multiplications: floats are read directly from the cache, halves are converted once
 * for all queries. */
#ifdef HALF_CACHE
#define ROW_OF(head, i)     ((const float *)(head)->work->widened[i])
#define read_lanes(p, left) vloadv(0, p)
#define read16(p, left)     vload16(0, p)
typedef const float *row_pointer;
#else
#define ROW_OF(head, i)                                                                                                \
    ((head)->cache + (size_t)(head)->work->rows[min((head)->first + (i), (head)->last)] * (head)->stride)
#define read_lanes      load_lanes
#define read16(p, left) load_columns(p, 0, left)
typedef const __global float *row_pointer;
#endif

/* Prepares `count` rows starting at `first` for multiplication: halves are converted, floats are used in
 * place. */
static inline struct head_rows ready_rows(struct step_work *work, const __global cache_element *cache, int stride, int width,
                                          int first, int count, int last)
{
#ifdef HALF_CACHE
#pragma unroll
    for (int i = 0; i < count; i++) {
        const __global cache_element *row = cache + (size_t)work->rows[min(first + i, last)] * stride;
#pragma unroll
        for (int c = 0; c < width; c += LANES) {
            work->widened[i][c / LANES] = load_cached16(row + c, width - c);
        }
    }
#endif
    struct head_rows rows = {work, cache, stride, first, last};
    return rows;
}

/* Prefetches the columns of a head in rows first .. end - 1 of the tile, during the computation of earlier rows.
 * Halves need more instructions than floats, so the hardware prefetches fewer of them. */
static inline void fetch_cached(const struct step_work *work, const __global cache_element *cache, int stride, int width,
                                int first, int end)
{
#ifdef HALF_CACHE
    for (int t = first; t < end; t++) {
        const __global cache_element *row = cache + (size_t)work->rows[t] * stride;
        for (int c = 0; c < width; c += 64 / (int)sizeof(cache_element)) {
            FETCH_SOON((const __global uchar *)(row + c));
        }
    }
#endif
}

/* Computes the dot products of a query and one key per lane: products are added lane by lane, and then lanes are
 * added pairwise in a tree until one register holds the sums. */
#if VECTOR_LANES == 16
#define score_keys(query, keys) (wide_score_keys(query, keys).v)
static inline struct wide wide_score_keys(const float16 *query, const struct head_rows *keys)
{
    float16 sums[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < VECTORS(KEY_WIDTH); c++) {
            sums[i] = fma16(query[c], read16(ROW_OF(keys, i) + c * LANES, KEY_WIDTH - c * LANES), sums[i]);
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
/* Adds pairs within each half of a register; no lane crosses halves. */
static inline float8 pair_halves(float8 a, float8 b)
{
    return (float8)(a.s0, a.s2, b.s0, b.s2, a.s4, a.s6, b.s4, b.s6) +
           (float8)(a.s1, a.s3, b.s1, b.s3, a.s5, a.s7, b.s5, b.s7);
}

/* Computes lanes first .. first + 7 of sixteen; `first` is 0 or 8. Inlined to give the loops constant bounds. */
static inline __attribute__((always_inline)) float8 score_half(const float16 *query, const struct head_rows *keys, int first)
{
    float8 sums[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        row_pointer key = ROW_OF(keys, i) + first;
        sums[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < KEY_WIDTH - first; c += LANES) {
            float8 columns = vload8(0, (const float *)query + first + c);
            sums[i] = fma(columns, read_lanes(key + c, KEY_WIDTH - first - c), sums[i]);
        }
    }
    float8 a = pair_halves(pair_halves(sums[0], sums[1]), pair_halves(sums[2], sums[3]));
    float8 b = pair_halves(pair_halves(sums[4], sums[5]), pair_halves(sums[6], sums[7]));
    return (float8)(a.lo, b.lo) + (float8)(a.hi, b.hi);
}

static inline float8 score_keys(const float16 *query, const struct head_rows *keys)
{
    return score_half(query, keys, 0) + score_half(query, keys, 8);
}
#endif

/* scores[n][t] = query n . k[rows[t]] for t < count. Computes all heads for some keys before the next keys. */
static inline void score_tile(struct step_work *work, int heads, int queries, const struct cached *cached, int count)
{
    for (int t = 0; t < count; t += VECTOR_LANES) {
        int next = t + VECTOR_LANES;
        for (int h = 0; h < heads; h++) {
            const __global cache_element *k = cached->k + h * KEY_WIDTH;
            if (next < count) {
                fetch_cached(work, k, cached->k_stride, KEY_WIDTH, next, min(next + VECTOR_LANES, count));
            } else {
                fetch_cached(work, cached->v + h * VALUE_WIDTH, cached->v_stride, VALUE_WIDTH, 0, min(LANES, count));
            }
            struct head_rows keys = ready_rows(work, k, cached->k_stride, KEY_WIDTH, t, VECTOR_LANES, count - 1);
            for (int n = h * queries; n < (h + 1) * queries; n++) {
                vstorev(score_keys(work->queries[n], &keys), 0, work->scores[n] + t);
            }
        }
    }
}

/* Turns scores into weights. */
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
    /* Before any key has been seen, subtracting 0 instead of -inf makes the weights 0, not NaN. */
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

/* sums = sums times the factor + count weighted values. */
static inline void add_values_of(struct running *running, float factor, const float *weights, const struct head_rows *values,
                                 int count)
{
    float16 sums[VECTORS(VALUE_WIDTH)];
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        sums[c] = running->sums[c] * factor;
    }
    for (int t = 0; t < count; t++) {
        float16 weight = weights[t];
        row_pointer value = ROW_OF(values, t);
#pragma unroll
        for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
            sums[c] = fma16(weight, read16(value + c * LANES, VALUE_WIDTH - c * LANES), sums[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        running->sums[c] = sums[c];
    }
}

/* Adds the tile's weights and values to the sums. Processes all heads for some keys before the next keys. */
static inline void add_tile(struct step_work *work, int heads, int queries, const struct cached *cached, int count)
{
    for (int t = 0; t < count; t += LANES) {
        int next = t + LANES;
        for (int h = 0; h < heads; h++) {
            const __global cache_element *v = cached->v + h * VALUE_WIDTH;
            if (next < count) {
                fetch_cached(work, v, cached->v_stride, VALUE_WIDTH, next, min(next + LANES, count));
            } else { /* prefetch the next tile's first keys */
                fetch_cached(work, cached->k + h * KEY_WIDTH, cached->k_stride, KEY_WIDTH, count,
                             min(count + VECTOR_LANES, work->row_count));
            }
            int rows = min(LANES, count - t);
            struct head_rows values = ready_rows(work, v, cached->v_stride, VALUE_WIDTH, t, rows, count - 1);
            for (int n = h * queries; n < (h + 1) * queries; n++) {
                add_values_of(&work->running[n], t == 0 ? work->factors[n] : 1.0f, work->scores[n] + t, &values, rows);
            }
        }
    }
}
