/* A tile of keys and values, GPU variant of attention_step.cl: its scores, weights and weighted sums. Included by
 * attention_step_gpu.cl; not a program. */

/* A tile of keys: the index of the first key, and the number of keys. */
struct tile {
    int first, count;
};

/* Finds the rows of a tile; keys beyond the last one get the row of the last one. */
static inline void find_rows(const struct place *at, const struct attended *seen, struct tile tile)
{
    int t = tile.first + min(at->lane, tile.count - 1), row = seen->first_row + t;
    if (seen->lookup && tile.count > 0) {
        row += seen->lookup[t] * seen->positions_total;
    }
    at->rows[at->lane] = row;
}

/* Reads BATCH rows, `apart` keys apart; the pointer is at the lane's columns, of which `left` are in the head. */
static inline ALWAYS_INLINE void read_rows(cached_octet to[BATCH], const __global cache_element *cache, int stride, int left,
                                           const __local int *rows, int apart)
{
#pragma unroll
    for (int j = 0; j < BATCH; j++) {
        to[j] = read_octet(cache + (size_t)rows[j * apart] * stride, left);
    }
}

/* Reads up to AHEAD of the lane's keys, starting with key number `first`, in the columns of a round. Lanes beyond
 * the head's last column read the last columns. */
static inline ALWAYS_INLINE void read_keys(cached_octet rows[AHEAD], const struct place *at, const struct attended *seen,
                                           struct tile tile, int round, int first)
{
    int column = 8 * min(at->lane % KEY_LANES + round * KEY_LANES, KEY_OCTETS - 1), own = at->lane / KEY_LANES;
#pragma unroll
    for (int j = 0; j < KEYS_AHEAD; j += BATCH) {
        if ((first + j) * KEYS_APART < tile.count) {
            read_rows(rows + j, seen->k + column, seen->key_stride, KEY_WIDTH - column,
                      at->rows + own + (first + j) * KEYS_APART, KEYS_APART);
        }
    }
}

static inline ALWAYS_INLINE void read_values(cached_octet rows[AHEAD], const struct place *at, const struct attended *seen,
                                             struct tile tile, int c, int first)
{
    int column = 8 * min(at->lane % VALUE_LANES + c * GROUP, VALUE_OCTETS - 1), own = at->lane / VALUE_LANES;
#pragma unroll
    for (int j = 0; j < VALUES_AHEAD; j += BATCH) {
        if ((first + j) * VALUES_APART < tile.count) {
            read_rows(rows + j, seen->v + column, seen->value_stride, VALUE_WIDTH - column,
                      at->rows + own + (first + j) * VALUES_APART, VALUES_APART);
        }
    }
}

static inline float add_products(float8 a, float8 b, float sum)
{
    sum = fma(a.s3, b.s3, fma(a.s2, b.s2, fma(a.s1, b.s1, fma(a.s0, b.s0, sum))));
    return fma(a.s7, b.s7, fma(a.s6, b.s6, fma(a.s5, b.s5, fma(a.s4, b.s4, sum))));
}

/* lanes[l][t] = the part of query . k[t] that lane l computes, at least for t < tile.count. rows: the first rows,
 * if already loaded. */
static inline ALWAYS_INLINE void multiply_keys(cached_octet rows[AHEAD], const struct place *at, const struct attended *seen,
                                               struct tile tile)
{
    float sums[KEY_LANES] = {0.0f};
#pragma unroll
    for (int round = 0; round < (KEY_OCTETS + KEY_LANES - 1) / KEY_LANES; round++) {
        int octet = at->lane % KEY_LANES + round * KEY_LANES, is_there = KEY_OCTETS % KEY_LANES == 0 || octet < KEY_OCTETS;
        const __local float4 *quads = (const __local float4 *)at->query + 2 * min(octet, KEY_OCTETS - 1);
        float8 query = (float8)(quads[0], quads[1]);
#pragma unroll
        for (int j = 0; j < KEY_LANES; j++) {
            if (j % AHEAD == 0 && round + j > 0) {
                read_keys(rows, at, seen, tile, round, j);
            }
            if (is_there && j / BATCH * BATCH * KEYS_APART < tile.count) {
                sums[j] = add_products(query, octet_floats(rows[j % AHEAD]), sums[j]);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < KEY_LANES; j++) {
        at->lanes[at->lane % KEY_LANES * PITCH + at->lane / KEY_LANES + j * KEYS_APART] = sums[j];
    }
}

/* Adds the weighted values of a tile. rows: the first rows, if values are read early. */
static inline ALWAYS_INLINE void weigh_values(float8 sums[COLUMNS], float *total, cached_octet rows[AHEAD],
                                              const struct place *at, const struct attended *seen, struct tile tile)
{
    *total = 0.0f;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        sums[c] = (float8)(0.0f);
#pragma unroll
        for (int j = 0; j < VALUE_LANES; j++) {
            if (j % AHEAD == 0 && c * GROUP + j >= EARLY_VALUES) {
                read_values(rows, at, seen, tile, c, j);
            }
            if (j / BATCH * BATCH * VALUES_APART < tile.count) {
                float weight = at->weights[at->lane / VALUE_LANES + j * VALUES_APART];
                *total += c == 0 ? weight : 0.0f;
                sums[c] = fma((float8)(weight), octet_floats(rows[j % AHEAD]), sums[c]);
            }
        }
    }
}

/* Copies the query times scale to local memory, with zeros beyond its columns. */
static inline void load_query(const struct step *step, int item, __local float *query)
{
    for (int d = item; d < KEY_OCTETS * 8; d += ITEMS) {
        query[d] = d < KEY_WIDTH ? step->scale * step->q[d] : 0.0f;
    }
}

/* Returns the sum of the masks for key t: -inf if the key is hidden. */
static inline float masked(const struct attended *seen, int t)
{
    float added = 0.0f;
    if (seen->relative) {
        added = relative_bias(seen->relative, seen->reach, t, seen->query);
    }
    if (seen->additive) {
        added += seen->additive[t];
    }
    return seen->hidden && seen->hidden[t] ? -INFINITY : added;
}

/* Computes the sums of a tile into `lanes`, and the totals and the maximum into `scores`. All sub-groups
 * reach the same barriers, even if their tile has no keys. is_first: the first tile of a task, whose query
 * is not in local memory yet. */
static inline ALWAYS_INLINE void weigh_keys(const struct place *at, const struct step *step, struct tile tile, int is_first)
{
    const struct attended *seen = &step->seen;
    /* Initialise to zero: otherwise compilers keep unread rows in registers across iterations. */
    cached_octet keys[AHEAD] = {(cached_octet)(0)}, values[AHEAD] = {(cached_octet)(0)};
    find_rows(at, seen, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    read_keys(keys, at, seen, tile, 0, 0);
    if (EARLY_VALUES > 0) {
        read_values(values, at, seen, tile, 0, 0);
    }
    float score = at->lane < tile.count ? masked(seen, tile.first + at->lane) : -INFINITY;
    if (is_first) {
        load_query(step, at->item, at->query);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    multiply_keys(keys, at, seen, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (score != -INFINITY) {
        float sum = 0.0f;
#pragma unroll
        for (int part = 0; part < KEY_LANES; part++) {
            sum += at->lanes[part * PITCH + at->lane];
        }
        score += sum;
    }
    at->scores[at->lane] = score;
    barrier(CLK_LOCAL_MEM_FENCE);
    const __local float4 *all = (const __local float4 *)at->scores;
    float4 scores = all[0];
#pragma unroll
    for (int i = 1; i < TILE / 4; i++) {
        scores = fmax(scores, all[i]);
    }
    float maximum = max4(scores);
    at->weights[at->lane] = exp(score - subtracted_of(maximum));
    barrier(CLK_LOCAL_MEM_FENCE);
    float8 sums[COLUMNS];
    float total;
    weigh_values(sums, &total, values, at, seen, tile);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        __local float4 *to = (__local float4 *)at->lanes + 2 * (c * GROUP + at->lane);
        to[0] = sums[c].lo;
        to[1] = sums[c].hi;
    }
    at->scores[at->lane / VALUE_LANES] = total; /* the total is equal in all lanes of a value */
    at->scores[VALUES_APART] = maximum;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Adds the sums of a tile from weigh_keys(). */
static inline void gather_sums(struct part_sums *sums, int item, const __local float *lanes)
{
    const __local float *totals = lanes + 4 * CLF__STEP_LANE_QUADS(VALUE_WIDTH);
    sums->maximum = totals[VALUES_APART];
    sums->total = 0.0f;
#pragma unroll
    for (int i = 0; i < VALUES_APART; i++) {
        sums->total += totals[i];
    }
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        int d = min(item + i * ITEMS, VALUE_WIDTH - 1);
        sums->columns[i] = 0.0f;
#pragma unroll 8
        for (int j = 0; j < VALUES_APART; j++) {
            sums->columns[i] += lanes[8 * j * VALUE_LANES + d];
        }
    }
}
