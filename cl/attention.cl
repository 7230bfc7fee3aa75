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
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head). */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

/* hidden (key rows), additive (sequences * max_queries, ..) and relative (heads, 2 * reach + 1) may be null.
 */
#define ATTENTION_ARGUMENTS                                                                                  \
    __global float *y, int y_offset, int y_stride, const __global float *q, int q_offset, int q_stride,      \
        const __global float *k, int k_offset, int k_stride, const __global float *v, int v_offset,          \
        int v_stride, const __global int *spans, int spans_offset, const __global int *hidden,               \
        int hidden_offset, const __global float *additive, int additive_offset, int additive_stride,         \
        const __global float *relative, int relative_offset, int relative_stride, int reach, int sequences,  \
        int heads, int max_queries, float scale, int causal

/* ---- the CPU form: lanes are queries, so that nothing is ever summed across lanes ---- */

#define LANES         16
#define KEY_TILE      32 /* keys between two looks at the running maximum */
#define PADDED(width) (((width) + LANES - 1) / LANES * LANES)

static inline float16 interleave_low(float16 a, float16 b)
{
    return (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7,
                     b.s7);
}

static inline float16 interleave_high(float16 a, float16 b)
{
    return (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf,
                     b.sf);
}

/* One of four equal rounds that together transpose 16 rows: to[2 i], to[2 i + 1] = from[i] and from[i + 8]
 * dealt alternately. */
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

/* lanes[d] = scale * column d of up to 16 rows (KEY_WIDTH wide); lanes beyond count repeat the last row. */
static inline void load_queries(float16 *lanes, const __global float *rows, int stride, int count,
                                float scale)
{
    for (int d = 0; d < KEY_WIDTH; d += LANES) {
        float16 tile[LANES];
#pragma unroll
        for (int i = 0; i < LANES; i++) {
            const __global float *row = rows + (size_t)min(i, count - 1) * stride + d;
            tile[i] = d + LANES <= KEY_WIDTH ? vload16(0, row) : load_part(row, KEY_WIDTH - d, 0.0f);
        }
        transpose16(tile);
#pragma unroll
        for (int i = 0; i < LANES; i++) {
            lanes[d + i] = tile[i] * scale;
        }
    }
}

/* Row i < count of y = lane i of lanes[0 .. VALUE_WIDTH - 1] times factor. */
static inline void store_outputs(__global float *rows, int stride, int count, const float16 *lanes,
                                 float16 factor)
{
    for (int d = 0; d < VALUE_WIDTH; d += LANES) {
        float16 tile[LANES];
#pragma unroll
        for (int i = 0; i < LANES; i++) {
            tile[i] = lanes[d + i] * factor;
        }
        transpose16(tile);
        for (int i = 0; i < count; i++) {
            __global float *row = rows + (size_t)i * stride + d;
            if (d + LANES <= VALUE_WIDTH) {
                vstore16(tile[i], 0, row);
            } else {
                store_part(tile[i], row, VALUE_WIDTH - d);
            }
        }
    }
}

/* scores[j] = queries . k[j] for j < count <= KEY_TILE, eight keys at a time (those beyond count repeat the
 * last one). */
static inline void score_tile(float16 *scores, const float16 *queries, const __global float *k, int stride,
                              int count)
{
    for (int j = 0; j < count; j += 8) {
        const __global float *k0 = k + (size_t)j * stride;
        const __global float *k1 = k + (size_t)min(j + 1, count - 1) * stride;
        const __global float *k2 = k + (size_t)min(j + 2, count - 1) * stride;
        const __global float *k3 = k + (size_t)min(j + 3, count - 1) * stride;
        const __global float *k4 = k + (size_t)min(j + 4, count - 1) * stride;
        const __global float *k5 = k + (size_t)min(j + 5, count - 1) * stride;
        const __global float *k6 = k + (size_t)min(j + 6, count - 1) * stride;
        const __global float *k7 = k + (size_t)min(j + 7, count - 1) * stride;
        float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f, s4 = 0.0f, s5 = 0.0f, s6 = 0.0f, s7 = 0.0f;
        for (int d = 0; d < KEY_WIDTH; d++) {
            float16 query = queries[d];
            s0 = fma(query, (float16)k0[d], s0);
            s1 = fma(query, (float16)k1[d], s1);
            s2 = fma(query, (float16)k2[d], s2);
            s3 = fma(query, (float16)k3[d], s3);
            s4 = fma(query, (float16)k4[d], s4);
            s5 = fma(query, (float16)k5[d], s5);
            s6 = fma(query, (float16)k6[d], s6);
            s7 = fma(query, (float16)k7[d], s7);
        }
        scores[j] = s0;
        scores[j + 1] = s1;
        scores[j + 2] = s2;
        scores[j + 3] = s3;
        scores[j + 4] = s4;
        scores[j + 5] = s5;
        scores[j + 6] = s6;
        scores[j + 7] = s7;
    }
}

/* sums[d] = sums[d] * factor + sum over j < count of weights[j] * v[j][d], eight columns at a time. */
static inline void add_values(float16 *sums, float16 factor, const float16 *weights, const __global float *v,
                              int stride, int count)
{
    int d = 0;
    for (; d + 8 <= VALUE_WIDTH; d += 8) {
        float16 a0 = sums[d] * factor, a1 = sums[d + 1] * factor;
        float16 a2 = sums[d + 2] * factor, a3 = sums[d + 3] * factor;
        float16 a4 = sums[d + 4] * factor, a5 = sums[d + 5] * factor;
        float16 a6 = sums[d + 6] * factor, a7 = sums[d + 7] * factor;
        const __global float *row = v + d;
        for (int j = 0; j < count; j++, row += stride) {
            float16 weight = weights[j];
            a0 = fma(weight, (float16)row[0], a0);
            a1 = fma(weight, (float16)row[1], a1);
            a2 = fma(weight, (float16)row[2], a2);
            a3 = fma(weight, (float16)row[3], a3);
            a4 = fma(weight, (float16)row[4], a4);
            a5 = fma(weight, (float16)row[5], a5);
            a6 = fma(weight, (float16)row[6], a6);
            a7 = fma(weight, (float16)row[7], a7);
        }
        sums[d] = a0;
        sums[d + 1] = a1;
        sums[d + 2] = a2;
        sums[d + 3] = a3;
        sums[d + 4] = a4;
        sums[d + 5] = a5;
        sums[d + 6] = a6;
        sums[d + 7] = a7;
    }
    for (; d < VALUE_WIDTH; d++) {
        float16 sum = sums[d] * factor;
        for (int j = 0; j < count; j++) {
            sum = fma(weights[j], (float16)v[(size_t)j * stride + d], sum);
        }
        sums[d] = sum;
    }
}

/* Lane i = table[clamp(start + i * step, low, high)]. */
static inline float16 gather(const __global float *table, int start, int step, int low, int high)
{
    float lanes[LANES];
    for (int i = 0; i < LANES; i++) {
        lanes[i] = table[clamp(start + i * step, low, high)];
    }
    return vload16(0, lanes);
}

/* A work-item takes 16 queries of one head of one sequence. Blocks of one head lie next to each other (its
 * keys stay in cache), the late ones, which are long when causal, first. */
CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    int blocks = (max_queries + LANES - 1) / LANES;
    int tasks = sequences * heads * blocks;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int sequence = task / blocks / heads, head = task / blocks % heads;
        int first = (blocks - 1 - task % blocks) * LANES;
        const __global int *span = spans + spans_offset + sequence * 4;
        int queries = span[1], first_key = span[2], keys = span[3];
        int count = min(queries - first, LANES);
        if (count <= 0) {
            continue;
        }
        size_t query_row = (size_t)(span[0] + first);
        int16 index = first + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        int16 last = keys - 1; /* the last key that each query sees */
        if (causal) {
            last = min(index + (keys - queries), last);
        }
        int end = causal ? min(first + count + keys - queries, keys) : keys;

        float16 q_lanes[PADDED(KEY_WIDTH)], sums[PADDED(VALUE_WIDTH)], scores[KEY_TILE];
        load_queries(q_lanes, q + q_offset + query_row * q_stride + head * KEY_WIDTH, q_stride, count, scale);
        for (int d = 0; d < PADDED(VALUE_WIDTH); d++) {
            sums[d] = 0.0f;
        }
        float16 maximum = -INFINITY, total = 0.0f;
        for (int tile = 0; tile < end; tile += KEY_TILE) {
            int width = min(end - tile, KEY_TILE);
            size_t key_row = (size_t)(first_key + tile);
            score_tile(scores, q_lanes, k + k_offset + key_row * k_stride + head * KEY_WIDTH, k_stride,
                       width);
            float16 largest = maximum;
            for (int j = 0; j < width; j++) {
                int key = tile + j;
                float16 score = scores[j];
                if (relative) {
                    score += gather(relative + relative_offset + (size_t)head * relative_stride,
                                    key - first + reach, -1, 0, 2 * reach);
                }
                if (additive) {
                    size_t row = (size_t)sequence * max_queries + first;
                    score += gather(additive + additive_offset + row * additive_stride + key, 0,
                                    additive_stride, 0, (count - 1) * additive_stride);
                }
                score = select(score, (float16)(-INFINITY), key > last);
                if (hidden && hidden[hidden_offset + first_key + key]) {
                    score = -INFINITY;
                }
                largest = fmax(largest, score);
                scores[j] = score;
            }
            /* A lane that has seen nothing yet keeps -inf: subtracting 0 instead makes its weights 0, not
             * NaN. */
            float16 subtracted = select(largest, (float16)0.0f, largest == (float16)(-INFINITY));
            float16 factor = exp(maximum - subtracted);
            total *= factor;
            for (int j = 0; j < width; j++) {
                float16 weight = exp(scores[j] - subtracted);
                total += weight;
                scores[j] = weight;
            }
            add_values(sums, factor, scores, v + v_offset + key_row * v_stride + head * VALUE_WIDTH, v_stride,
                       width);
            maximum = largest;
        }
        float16 share = select(1.0f / total, (float16)0.0f, total == (float16)0.0f);
        store_outputs(y + y_offset + query_row * y_stride + head * VALUE_WIDTH, y_stride, count, sums, share);
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

/* The scores of half a tile's keys, `key` .., for one query, which sees those up to `last`: adds what the
 * masks say and returns the largest. hidden, bias (the head's) and terms (the query's) may be null. */
static inline float mask_half_row(__local float *scores, int key, int query, int last,
                                  const __global int *hidden, const __global float *bias, int reach,
                                  const __global float *terms)
{
    float largest = -INFINITY;
#pragma unroll 1
    for (int j = 0; j < BLOCK / 2; j++, key++) {
        float score = -INFINITY;
        if (key <= last && !(hidden && hidden[key])) {
            score = scores[j];
            if (bias) {
                score += bias[clamp(key - query + reach, 0, 2 * reach)];
            }
            if (terms) {
                score += terms[key];
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

/* A group takes 32 queries of one head of one sequence and up to 64 value columns; work-item (row, column)
 * of 8 x 8 holds four queries, their scores of four keys of a tile of 32, and every eighth output column of
 * them. The scores pass through local memory, where two work-items a query keep its maximum and sum. */
GPU_KERNEL void attention_forward_gpu(ATTENTION_ARGUMENTS)
{
    __local float tiles[QK_TILE > V_TILE ? QK_TILE : V_TILE];
    __local float weights[BLOCK * (BLOCK + 1)];
    __local float parts[GROUP], sum_parts[GROUP], factors[BLOCK];
    int lane = (int)get_local_id(0), row4 = lane / 8 * 4, column = lane % 8;
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
        float4 sums0 = 0.0f, sums1 = 0.0f, sums2 = 0.0f, sums3 = 0.0f; /* a column of the four queries each */
        float4 sums4 = 0.0f, sums5 = 0.0f, sums6 = 0.0f, sums7 = 0.0f;
        /* The query whose maximum and sum this work-item keeps, and the last key that it sees. */
        int query = first + lane / 2;
        int last = query >= queries ? -1 : causal ? min(query + keys - queries, keys - 1) : keys - 1;
        const __global int *hidden_keys = hidden ? hidden + hidden_offset + first_key : 0;
        const __global float *bias =
            relative ? relative + relative_offset + (size_t)head * relative_stride : 0;
        const __global float *terms =
            additive ? additive + additive_offset + ((size_t)sequence * max_queries + query) * additive_stride
                     : 0;
        float maximum = -INFINITY, total = 0.0f;
        for (int tile = 0; tile < end; tile += BLOCK) {
            int width = min(end - tile, BLOCK);
            size_t key_row = (size_t)(first_key + tile);
            float4 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f; /* a query's scores of four keys */
#pragma unroll 1
            for (int d = 0; d < KEY_WIDTH; d += CHUNK) {
                barrier(CLK_LOCAL_MEM_FENCE);
                load_chunk(tiles, q + q_offset + query_row * q_stride + head * KEY_WIDTH + d, q_stride, count,
                           KEY_WIDTH - d, scale);
                load_chunk(tiles + QK_TILE / 2, k + k_offset + key_row * k_stride + head * KEY_WIDTH + d,
                           k_stride, width, KEY_WIDTH - d, 1.0f);
                barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 2
                for (int e = 0; e < CHUNK; e++) {
                    const __local float *query_column = tiles + row4 * (CHUNK + 1) + e;
                    const __local float *key_column = tiles + QK_TILE / 2 + column * (CHUNK + 1) + e;
                    float4 four_keys = (float4)(key_column[0], key_column[8 * (CHUNK + 1)],
                                                key_column[16 * (CHUNK + 1)], key_column[24 * (CHUNK + 1)]);
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

            load_values(tiles, v + v_offset + key_row * v_stride + head * VALUE_WIDTH + slice, v_stride,
                        width, VALUE_WIDTH - slice);
            __local float *half_row = weights + lane / 2 * (BLOCK + 1) + lane % 2 * (BLOCK / 2);
            int first_of_half = tile + lane % 2 * (BLOCK / 2);
            float largest =
                mask_half_row(half_row, first_of_half, query, last, hidden_keys, bias, reach, terms);
            parts[lane] = largest;
            barrier(CLK_LOCAL_MEM_FENCE);
            largest = fmax(maximum, fmax(parts[lane], parts[lane ^ 1]));
            /* A query that has seen nothing yet: subtracting 0 instead of -inf gives weights 0, not NaN. */
            float subtracted = largest == -INFINITY ? 0.0f : largest;
            float factor = exp(maximum - subtracted);
            sum_parts[lane] = weigh_half_row(half_row, subtracted);
            if (lane % 2 == 0) {
                factors[lane / 2] = factor;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            total = total * factor + (sum_parts[lane & ~1] + sum_parts[lane | 1]);
            maximum = largest;

            float4 row_factors = vload4(0, factors + row4);
#define RESCALE(c) sums##c *= row_factors;
            EACH_COLUMN(RESCALE)
#pragma unroll 1
            for (int j = 0; j < width; j++) {
                const __local float *weight = weights + row4 * (BLOCK + 1) + j;
                float4 row_weights =
                    (float4)(weight[0], weight[BLOCK + 1], weight[2 * (BLOCK + 1)], weight[3 * (BLOCK + 1)]);
                const __local float *value = tiles + j * COLUMNS * 8 + column;
#define ADD_VALUE(c) sums##c = fma(row_weights, (float4)(value[8 * c]), sums##c);
                EACH_COLUMN(ADD_VALUE)
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane % 2 == 0) {
            factors[lane / 2] = total == 0.0f ? 0.0f : 1.0f / total;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float4 shares = vload4(0, factors + row4);
        __global float *out = y + y_offset + (query_row + row4) * y_stride + head * VALUE_WIDTH + slice;
#define PUT_COLUMN(c)                                                                                        \
    if (column + 8 * c < min(SLICE, VALUE_WIDTH - slice)) {                                                  \
        put_outputs(out + column + 8 * c, y_stride, count - row4, sums##c * shares);                         \
    }
        EACH_COLUMN(PUT_COLUMN)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
