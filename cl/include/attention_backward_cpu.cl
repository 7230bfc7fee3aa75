/* The CPU variant of attention_backward.cl. Include file, not a program. A work-item computes one head of a
 * sequence. Lanes are keys where a query has one value per key, and columns otherwise. Scores are multiplied by
 * log2(e), so weights are powers of two. */
#define KEY_VECTORS   VECTORS(KEY_WIDTH)
#define VALUE_VECTORS VECTORS(VALUE_WIDTH)
#define TILE_VECTORS  VECTORS(TILE_KEYS)
#define TILE_QUERIES  32 /* a multiple of MOST_ROWS */

/* The private memory of a work-item for a tile of keys and a block of queries. Rows are padded with zeros to
 * a multiple of MOST_ROWS, and columns to whole vectors. */
struct backward_work {
    float16 packed_keys[TILE_VECTORS][KEY_WIDTH]; /* keys times the scale */
    float16 packed_values[TILE_VECTORS][VALUE_WIDTH];
    int16 unseen[TILE_VECTORS];
    float16 keys[TILE_KEYS][KEY_VECTORS];
    float16 dkeys[TILE_KEYS][KEY_VECTORS];
    float16 dvalues[TILE_KEYS][VALUE_VECTORS];
    float16 queries[TILE_QUERIES][KEY_VECTORS];
    float16 dqueries[TILE_QUERIES][KEY_VECTORS];
    float16 doutputs[TILE_QUERIES][VALUE_VECTORS];
    float16 weights[TILE_QUERIES][TILE_VECTORS];  /* scores, then P, then P after dropout */
    float16 dweights[TILE_QUERIES][TILE_VECTORS]; /* dy . v, then dS */
    float maxima[TILE_QUERIES];                   /* maximum score of each query */
    float totals[TILE_QUERIES];                   /* sums of the weights relative to the maxima */
    float deltas[TILE_QUERIES];
};

#include "include/attention_backward_rows.cl"

/* Returns the numbers to subtract from the scores: the maxima, but 0 for a query that has seen no key,
 * because -inf would give NaN. */
static inline float8 find_offsets(float8 maxima)
{
    return maxima == -INFINITY ? (float8)(0.0f) : maxima;
}

/* Turns the scores of eight queries into weights relative to the largest score; continues the given maxima
 * and totals unless is_first. */
static inline void measure_rows(struct backward_work *work, int row, int vectors, int is_first)
{
    float16 largest[MOST_ROWS], totals[MOST_ROWS];
#pragma unroll
    for (int i = 0; i < MOST_ROWS; i++) {
        largest[i] = -INFINITY;
        for (int n = 0; n < vectors; n++) {
            float16 score = work->weights[row + i][n];
            largest[i] = score > largest[i] ? score : largest[i];
        }
    }
    float16 pairs = REDUCE(pair_maxima, largest);
    float8 maxima = pairs.even > pairs.odd ? pairs.even : pairs.odd;
    float8 before = is_first ? (float8)(-INFINITY) : vload8(0, work->maxima + row);
    maxima = before > maxima ? before : maxima;
    vstore8(maxima, 0, work->maxima + row);
    float8 subtracted = find_offsets(maxima);
    float offsets[MOST_ROWS];
    vstore8(subtracted, 0, offsets);
#pragma unroll
    for (int i = 0; i < MOST_ROWS; i++) {
        totals[i] = 0.0f;
        for (int n = 0; n < vectors; n++) {
            float16 weight = exp2_16(work->weights[row + i][n] - offsets[i]);
            totals[i] += weight;
            work->weights[row + i][n] = weight;
        }
    }
    float16 sums = REDUCE(pair_sums, totals);
    float8 total = sums.even + sums.odd;
    if (!is_first) {
        float8 factors = exp2_16((float16)(before - subtracted, before - subtracted)).lo;
        total = fma(vload8(0, work->totals + row), factors, total);
    }
    vstore8(total, 0, work->totals + row);
}

/* Turns the scores of eight queries into weights relative to known maxima. */
static inline void weigh_rows_again(struct backward_work *work, int row, int vectors)
{
    float offsets[MOST_ROWS];
    vstore8(find_offsets(vload8(0, work->maxima + row)), 0, offsets);
    for (int i = 0; i < MOST_ROWS; i++) {
        for (int n = 0; n < vectors; n++) {
            work->weights[row + i][n] = exp2_16(work->weights[row + i][n] - offsets[i]);
        }
    }
}

/* deltas = dy . y for `count` queries starting at `first`. */
static inline void find_deltas(struct backward_work *work, const struct backward_head *head, int first, int count)
{
    const __global float *y = head->y + (size_t)first * head->y_stride;
    for (int row = 0; row < count; row += MOST_ROWS) {
        float16 products[MOST_ROWS];
#pragma unroll
        for (int i = 0; i < MOST_ROWS; i++) {
            products[i] = 0.0f;
            for (int c = 0; row + i < count && c < VALUE_VECTORS; c++) {
                float16 output = load_columns(y + (size_t)(row + i) * head->y_stride, c * LANES, VALUE_WIDTH);
                products[i] = fma16(work->doutputs[row + i][c], output, products[i]);
            }
        }
        float16 sums = REDUCE(pair_sums, products);
        vstore8(sums.even + sums.odd, 0, work->deltas + row);
    }
}

/* Computes dS = P * (f * dy . v - delta) and P * f for eight queries starting at `query`. */
static inline void differentiate_rows(struct backward_work *work, const struct backward_head *head, int query, int row,
                                      int tile, int vectors COMMA_DROPOUT_ARGUMENTS)
{
    float8 totals = vload8(0, work->totals + row);
    float shares[MOST_ROWS];
    vstore8(totals == 0.0f ? (float8)(0.0f) : 1.0f / totals, 0, shares);
    for (int i = 0; i < MOST_ROWS; i++) {
        float16 *weights = work->weights[row + i], *dweights = work->dweights[row + i];
        float delta = work->deltas[row + i];
#ifdef HAS_DROPOUT
        int mask_row = (head->first_row + query + i) * head->heads + head->number;
        for (int n = 0; n < vectors; n += 4) {
            float16 kept[4];
            dropout_block(kept, (tile + n * LANES) / 64, mask_row, DROPOUT_NAMES);
            for (int m = n; m < n + 4; m++) {
                float16 weight = weights[m] * shares[i];
                dweights[m] = weight * fma16(dweights[m], kept[m - n], (float16)(-delta));
                weights[m] = weight * kept[m - n];
            }
        }
#else
        for (int n = 0; n < vectors; n++) {
            float16 weight = weights[n] * shares[i];
            dweights[n] = weight * (dweights[n] - delta);
            weights[n] = weight;
        }
#endif
    }
}

/* Adds dS of a query and of `seen` keys to the partials. */
static inline void add_partials(const struct backward_head *head, const float *dscores, int query, int tile, int seen)
{
    int last = 2 * head->reach, place = tile - query + head->reach; /* distance of the first key, not clamped to the reach */
    int middle = clamp(-place, 0, seen), end = clamp(last - place, 0, seen);
    float sum = 0.0f;
    for (int j = 0; j < middle; j++) {
        sum += dscores[j];
    }
    head->partials[0] += sum;
    for (int j = middle; j < end; j++) {
        head->partials[place + j] += dscores[j];
    }
    sum = 0.0f;
    for (int j = end; j < seen; j++) {
        sum += dscores[j];
    }
    head->partials[last] += sum;
}

/* Returns the number of leading keys of the tile that any of the eight queries starting at `query` sees. */
static inline int count_seen(const struct backward_head *head, int query, int tile, int width)
{
    return head->causal ? clamp(query + MOST_ROWS + head->keys - head->queries - tile, 0, width) : width;
}

static inline void pack_tile(struct backward_work *work, const struct backward_head *head, int tile, int width)
{
    const __global float *k = head->k + (size_t)tile * head->k_stride;
    pack_rows(&work->packed_keys[0][0], k, head->k_stride, width, KEY_WIDTH, head->scale * M_LOG2E_F);
    find_unseen(work->unseen, head->hidden ? head->hidden + tile : 0, width);
}

/* Computes the masked scores of up to eight queries and `seen` keys of the tile. */
static inline void score_queries(struct backward_work *work, const struct backward_head *head, int query, int row,
                                 int rows, int tile, int seen)
{
    int vectors = VECTORS(seen);
    int last = head->causal ? query + head->keys - head->queries : head->keys - 1; /* last key that the
                                                                                    * first query sees */
    dots(work->weights[row], &work->packed_keys[0][0], work->queries[row], KEY_WIDTH, vectors);
    if (vectors * LANES > seen || head->hidden || head->bias || head->terms || tile + seen - 1 > last) {
        const __global float *terms = head->terms ? head->terms + (size_t)query * head->terms_stride : 0;
        mask_rows(work->weights + row, work->unseen, query, rows, tile, vectors, head->keys, last, head->causal,
                  head->bias, head->reach, terms, head->terms_stride);
    }
}

/* Loads the maxima and totals of `count` queries starting at `first`, as earlier tiles left them; zeros for the
 * rest of the block. */
static inline void load_measures(struct backward_work *work, const struct backward_head *head, int first, int count)
{
    for (int i = 0; i < TILE_QUERIES; i++) {
        work->maxima[i] = i < count ? head->maxima[first + i] : 0.0f;
        work->totals[i] = i < count ? head->totals[first + i] : 0.0f;
    }
}

/* Computes maxima and totals of all queries, if there is more than one tile of keys. */
static inline void measure_queries(struct backward_work *work, const struct backward_head *head)
{
    for (int tile = 0; tile < head->keys; tile += TILE_KEYS) {
        int width = min(head->keys - tile, TILE_KEYS);
        pack_tile(work, head, tile, width);
        for (int first = 0; first < head->queries; first += TILE_QUERIES) {
            int count = min(head->queries - first, TILE_QUERIES);
            const __global float *q = head->q + (size_t)first * head->q_stride;
            copy_rows(&work->queries[0][0], q, head->q_stride, count, KEY_WIDTH);
            load_measures(work, head, first, tile > 0 ? count : 0);
            for (int row = 0; row < count; row += MOST_ROWS) {
                int seen = count_seen(head, first + row, tile, width);
                score_queries(work, head, first + row, row, min(count - row, MOST_ROWS), tile, seen);
                measure_rows(work, row, VECTORS(seen), tile == 0);
            }
            for (int i = 0; i < count; i++) {
                head->maxima[first + i] = work->maxima[i];
                head->totals[first + i] = work->totals[i];
            }
        }
    }
}

/* Computes weights and their gradients for a block of queries and a tile of keys; writes dq, or adds to it
 * after the first tile. */
static inline void differentiate_queries(struct backward_work *work, const struct backward_head *head, int first,
                                         int count, int tile, int width COMMA_DROPOUT_ARGUMENTS)
{
    int is_only = head->keys <= TILE_KEYS;
    const __global float *q = head->q + (size_t)first * head->q_stride;
    const __global float *dy = head->dy + (size_t)first * head->dy_stride;
    copy_rows(&work->queries[0][0], q, head->q_stride, count, KEY_WIDTH);
    copy_rows(&work->doutputs[0][0], dy, head->dy_stride, count, VALUE_WIDTH);
    clear_rows(&work->dqueries[0][0], count, KEY_VECTORS);
    find_deltas(work, head, first, count);
    load_measures(work, head, first, is_only ? 0 : count);
    for (int row = 0; row < count; row += MOST_ROWS) {
        int query = first + row, seen = count_seen(head, query, tile, width), vectors = VECTORS(seen);
        score_queries(work, head, query, row, min(count - row, MOST_ROWS), tile, seen);
        if (is_only) {
            measure_rows(work, row, vectors, 1);
        } else {
            weigh_rows_again(work, row, vectors);
        }
        dots(work->dweights[row], &work->packed_values[0][0], work->doutputs[row], VALUE_WIDTH, vectors);
        differentiate_rows(work, head, query, row, tile, vectors COMMA_DROPOUT_NAMES);
        const float *dweights = (const float *)work->dweights[row];
        add_rows(work->dqueries[row], dweights, TILE_KEYS, 1, work->keys[0], seen, KEY_VECTORS);
        for (int i = 0; head->partials && i < min(count - row, MOST_ROWS); i++) {
            add_partials(head, dweights + i * TILE_KEYS, query + i, tile, seen);
        }
    }
    __global float *dq = head->dq + (size_t)first * head->dq_stride;
    store_rows(dq, head->dq_stride, &work->dqueries[0][0], count, KEY_WIDTH, head->scale, tile > 0);
}

/* Adds the contribution of a block of queries to dkeys and dvalues. */
static inline void differentiate_keys(struct backward_work *work, const struct backward_head *head, int first, int count,
                                      int tile, int width)
{
    for (int key = 0; key < width; key += MOST_ROWS) {
        /* the first query that sees one of these keys */
        int from = head->causal ? max(tile + key - (head->keys - head->queries) - first, 0) : 0;
        if (from >= count) {
            break;
        }
        const float *weights = (const float *)work->weights[from] + key;
        const float *dweights = (const float *)work->dweights[from] + key;
        add_rows(work->dvalues[key], weights, 1, TILE_KEYS, work->doutputs[from], count - from, VALUE_VECTORS);
        add_rows(work->dkeys[key], dweights, 1, TILE_KEYS, work->queries[from], count - from, KEY_VECTORS);
    }
}

static inline void differentiate_head(struct backward_work *work, const struct backward_head *head COMMA_DROPOUT_ARGUMENTS)
{
    if (head->keys > TILE_KEYS) {
        measure_queries(work, head);
    }
    for (int c = 0; head->partials && c < 2 * head->reach + 1; c++) {
        head->partials[c] = 0.0f;
    }
    int tile = 0;
    do { /* runs at least once, to write dq */
        int width = min(head->keys - tile, TILE_KEYS);
        size_t row = (size_t)tile;
        pack_tile(work, head, tile, width);
        pack_rows(&work->packed_values[0][0], head->v + row * head->v_stride, head->v_stride, width, VALUE_WIDTH, 1.0f);
        copy_rows(&work->keys[0][0], head->k + row * head->k_stride, head->k_stride, width, KEY_WIDTH);
        clear_rows(&work->dkeys[0][0], width, KEY_VECTORS);
        clear_rows(&work->dvalues[0][0], width, VALUE_VECTORS);
        for (int first = 0; first < head->queries; first += TILE_QUERIES) {
            int count = min(head->queries - first, TILE_QUERIES);
            differentiate_queries(work, head, first, count, tile, width COMMA_DROPOUT_NAMES);
            differentiate_keys(work, head, first, count, tile, width);
        }
        store_rows(head->dk + row * head->dk_stride, head->dk_stride, &work->dkeys[0][0], width, KEY_WIDTH, head->scale,
                   0);
        store_rows(head->dv + row * head->dv_stride, head->dv_stride, &work->dvalues[0][0], width, VALUE_WIDTH, 1.0f, 0);
        tile += TILE_KEYS;
    } while (tile < head->keys);
}
