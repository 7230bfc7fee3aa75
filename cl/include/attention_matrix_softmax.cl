/* The softmax of a tile of attention_matrix.cl, in registers: masks, maxima, weights, and the weighted values.
 * Included by attention_matrix.cl; not a program. */

/* The keys and masks of the warp's queries. hidden, bias (of the head) and terms (of the sequence) may be
 * null. Query i sees the keys up to i + shift, and below `end`. */
struct view {
    int first, last, shift, end, reach, terms_stride; /* first query of the warp, last query of the block */
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* Returns the query in row r of tile m of a lane; the last query repeats beyond the end. */
INLINE int query_of(const struct view *view, int m, int r)
{
    return min(view->first + m * MATRIX_ROWS + SUM_ROW(LANE, r * ROW_SUMS), view->last);
}

INLINE int last_key_of(const struct view *view, int query)
{
    return min(query + view->shift, view->end - 1);
}

/* The running maxima of the rows of a lane, times UNIT, and the lane's part of the totals of these rows. */
struct softmax {
    float maxima[ROWS], totals[ROWS];
};

#define SUM_OF(r, e) ((r)*ROW_SUMS + (e)) /* index of sum e of row r in a lane */

/* UNIT: the factor of scores in the exponent of 2. Biases are added to scores that are already multiplied by
 * it. */
#ifdef HAS_BIAS
#define UNIT(scale) 1.0f

/* Multiplies the scores of row r of tile m by `factor`, and adds the biases of ROW_SUMS keys of each tile, starting
 * at `key`. */
INLINE void add_bias(matrix_sum (*scores)[MATRIX_SUMS], int m, int r, int key, float factor, const struct view *view)
{
    int query = query_of(view, m, r), left = last_key_of(view, query) - key;
    const __global float *terms = view->terms + (size_t)query * view->terms_stride + key;
    int distance = key - query + view->reach, most = 2 * view->reach;
    UNROLL_SLICES
    for (int t = 0; t < KEY_TILES; t++) {
        UNROLL_SLICES
        for (int e = 0; e < ROW_SUMS; e++) {
            int next = t * MATRIX_COLUMNS + e;
            float score = scores[t][SUM_OF(r, e)] * factor;
            if (view->bias) {
                score = fma(M_LOG2E_F, view->bias[clamp(distance + next, 0, most)], score);
            }
            if (view->terms && next <= left) {
                score = fma(M_LOG2E_F, terms[next], score);
            }
            scores[t][SUM_OF(r, e)] = score;
        }
    }
}
#else
#define UNIT(scale) ((scale)*M_LOG2E_F)
#endif

/* Sets the scores of hidden keys to -inf. hidden: flags starting at the lane's first key of the tile, of which
 * `left` exist. */
INLINE void hide_keys(matrix_sum (*scores)[MATRIX_SUMS], const __global int *hidden, int left)
{
    UNROLL_SLICES
    for (int t = 0; t < KEY_TILES; t++) {
        UNROLL_SLICES
        for (int e = 0; e < ROW_SUMS; e++) {
            int is_hidden = hidden[min(t * MATRIX_COLUMNS + e, left)];
            UNROLL_SLICES
            for (int r = 0; r < LANE_ROWS; r++) {
                scores[t][SUM_OF(r, e)] = is_hidden ? -INFINITY : scores[t][SUM_OF(r, e)];
            }
        }
    }
}

/* Adds the biases to the scores of tile m for the keys starting at `tile`; sets -inf for keys that a query must
 * not see. */
INLINE void mask_scores(matrix_sum (*scores)[MATRIX_SUMS], int m, float scale, int tile, const struct view *view)
{
    int key = tile + SUM_COLUMN(LANE, 0);
    UNROLL_SLICES
    for (int r = 0; r < LANE_ROWS; r++) {
#ifdef HAS_BIAS
        add_bias(scores, m, r, key, scale * M_LOG2E_F, view);
#endif
        int left = last_key_of(view, query_of(view, m, r)) - key;
        UNROLL_SLICES
        for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
            int is_seen = n / ROW_SUMS * MATRIX_COLUMNS + n % ROW_SUMS <= left;
            float score = scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)];
            scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] = is_seen ? score : -INFINITY;
        }
    }
    if (view->hidden) {
        hide_keys(scores, view->hidden + key, view->end - 1 - key);
    }
}

/* Updates *maximum with a row's scores of this tile. Returns the factor for earlier sums. */
INLINE float raise_maximum(float *maximum, const matrix_sum (*scores)[MATRIX_SUMS], int r, float unit,
                           __local uint4 *exchange)
{
    float largest = -INFINITY;
    UNROLL_SLICES
    for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
        largest = fmax(largest, scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)]);
    }
    float earlier = *maximum;
    *maximum = fmax(earlier, row_max(largest, exchange) * unit);
    return EXP2(earlier - SUBTRACTED(*maximum));
}

/* Raises the maxima of the warp's rows, and scales earlier sums. */
INLINE void raise_maxima(const matrix_sum (*scores)[KEY_TILES][MATRIX_SUMS], matrix_sum (*sums)[VALUE_TILES][MATRIX_SUMS],
                         struct softmax *softmax, float unit, __local uint4 *exchange)
{
    float factors[ROWS];
    int rises = 0;
    UNROLL_SLICES
    for (int i = 0; i < ROWS; i++) {
        factors[i] = raise_maximum(&softmax->maxima[i], scores[i / LANE_ROWS], i % LANE_ROWS, unit, exchange);
        softmax->totals[i] *= factors[i];
        rises |= factors[i] != 1.0f;
    }
    if (ANY_LANE(rises)) {
        UNROLL_SLICES
        for (int i = 0; i < ROWS; i++) {
            UNROLL_SLICES
            for (int n = 0; n < VALUE_TILES * ROW_SUMS; n++) {
                sums[i / LANE_ROWS][n / ROW_SUMS][SUM_OF(i % LANE_ROWS, n % ROW_SUMS)] *= factors[i];
            }
        }
    }
}

/* Row i of a lane's scores of a slice = 2^(scores * unit - maximum). */
INLINE void weigh_row(matrix_sum (*scores)[MATRIX_SUMS], int i, struct softmax *softmax, float unit)
{
    float subtracted = SUBTRACTED(softmax->maxima[i]);
    UNROLL_SLICES
    for (int n = 0; n < SLICE_TILES * ROW_SUMS; n++) {
        matrix_sum *score = &scores[n / ROW_SUMS][SUM_OF(i % LANE_ROWS, n % ROW_SUMS)];
        *score = EXP2(fma(*score, unit, -subtracted));
        softmax->totals[i] += *score;
    }
}

/* Weighs the scores of a tile, and adds the weighted values to the sums. */
INLINE void add_values(matrix_sum (*sums)[VALUE_TILES][MATRIX_SUMS], matrix_sum (*scores)[KEY_TILES][MATRIX_SUMS],
                       struct softmax *softmax, float unit, const __local uint4 *tile, int width, __local uint4 *exchange)
{
    UNROLL_SLICES
    for (int slice = 0; slice < SLICES; slice++) {
        uint4 weights[ROW_TILES][A_WORDS];
        UNROLL_SLICES
        for (int m = 0; m < ROW_TILES; m++) {
            UNROLL_SLICES
            for (int r = 0; r < LANE_ROWS; r++) {
                weigh_row(scores[m] + slice * SLICE_TILES, m * LANE_ROWS + r, softmax, unit);
            }
            round_sums(weights[m], scores[m] + slice * SLICE_TILES, exchange);
        }
        if (HAS_SLICE(slice, width)) {
            multiply_values(sums, weights, tile, slice);
        }
    }
}
