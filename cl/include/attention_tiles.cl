/* The GPU variant of the gradients of attention. Include file, not a program. Tiles of keys and values pass through
 * local memory. Work-item (row, column) of 8 x 8 holds the dot products of rows 4 row .. 4 row + 3 with every eighth
 * row starting at `column`, and every eighth column starting at `column` of the sums of these four rows.
 *
 * Macros: DOT_WIDTH, the largest width of a dot product, and SUM_WIDTH, the width of the rows that are
 * summed. */
#define BLOCK   32 /* queries per group, and keys per tile */
#define CHUNK   (DOT_WIDTH < 32 ? DOT_WIDTH : 32)
#define SLICES  ((SUM_WIDTH + 63) / 64)
#define SLICE   ((SUM_WIDTH + SLICES - 1) / SLICES) /* columns of a group's sums */
#define COLUMNS ((SLICE + 7) / 8)                   /* columns of a work-item */
#define DOT_TILES (2 * BLOCK * (CHUNK + 1))
#define SUM_TILE  (BLOCK * COLUMNS * 8)
#define TILES     (DOT_TILES > SUM_TILE ? DOT_TILES : SUM_TILE) /* floats of local memory for either kind of tile */

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
static inline void load_slice(__local float *tile, const __global float *rows, int stride, int count,
                               int width)
{
#pragma unroll 1
    for (int e = (int)get_local_id(0); e < SUM_TILE; e += GROUP) {
        int row = e / (COLUMNS * 8), column = e % (COLUMNS * 8);
        tile[e] =
            row < count && column < width && column < SLICE ? rows[(size_t)row * stride + column] : 0.0f;
    }
}

/* Stores dot products of a row with every eighth row in a row of scores. */
static inline void put_products(__local float *row, float4 products)
{
    row[0] = products.x;
    row[8] = products.y;
    row[16] = products.z;
    row[24] = products.w;
}

/* Columns of up to four rows, starting at `first`. */
struct columns {
    __global float *first;
    int stride, rows, count;
};

/* Stores column c, if there is one. */
static inline void put_column(const struct columns *to, int c, float4 values)
{
    __global float *column = to->first + c;
    int stride = to->stride, count = c < to->count ? to->rows : 0;
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

/* The query whose maximum and sum a work-item keeps, the last key that it sees, and its masks: hidden,
 * bias (of the head) and terms (of the query) may be null. */
struct view {
    int query, last, reach;
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* Masks the scores of one query for half of a tile's keys, starting at `key`; returns the largest score. */
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

/* Dot products of a row with every eighth row. */
struct products {
    float4 s0, s1, s2, s3;
};

/* Computes the dot products of a_count rows a, times a_scale, with b_count rows b, times b_scale, over `width`
 * columns, in tiles. */
static inline struct products multiply_tile(__local float *tiles, const __global float *a, int a_stride, int a_count,
                                            float a_scale, const __global float *b, int b_stride, int b_count,
                                            float b_scale, int width)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
    float4 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
#pragma unroll 1
    for (int d = 0; d < width; d += CHUNK) {
        barrier(CLK_LOCAL_MEM_FENCE);
        load_chunk(tiles, a + d, a_stride, a_count, width - d, a_scale);
        load_chunk(tiles + DOT_TILES / 2, b + d, b_stride, b_count, width - d, b_scale);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 2
        for (int e = 0; e < CHUNK; e++) {
            const __local float *a_column = tiles + row4 * (CHUNK + 1) + e;
            const __local float *b_column = tiles + DOT_TILES / 2 + column * (CHUNK + 1) + e;
            float4 four = (float4)(b_column[0], b_column[8 * (CHUNK + 1)], b_column[16 * (CHUNK + 1)],
                                   b_column[24 * (CHUNK + 1)]);
            s0 = fma((float4)(a_column[0]), four, s0);
            s1 = fma((float4)(a_column[CHUNK + 1]), four, s1);
            s2 = fma((float4)(a_column[2 * (CHUNK + 1)]), four, s2);
            s3 = fma((float4)(a_column[3 * (CHUNK + 1)]), four, s3);
        }
    }
    struct products products = {s0, s1, s2, s3};
    return products;
}

/* scores (BLOCK, BLOCK + 1) = the dot products of multiply_tile() over the width of a key. */
static inline void score_tile(__local float *scores, __local float *tiles, const __global float *a, int a_stride,
                              int a_count, float a_scale, const __global float *b, int b_stride, int b_count, float b_scale)
{
    struct products products =
        multiply_tile(tiles, a, a_stride, a_count, a_scale, b, b_stride, b_count, b_scale, KEY_WIDTH);
    __local float *target = scores + (int)get_local_id(0) / 8 * 4 * (BLOCK + 1) + (int)get_local_id(0) % 8;
    put_products(target, products.s0);
    put_products(target + BLOCK + 1, products.s1);
    put_products(target + 2 * (BLOCK + 1), products.s2);
    put_products(target + 3 * (BLOCK + 1), products.s3);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The maximum and the sum of a query; two work-items process half a tile each. */
struct running {
    float maximum, total;
};

/* Masks the scores of the tile's keys and turns them into weights; factors (BLOCK) scale the earlier sums. */
static inline void weigh_tile(struct running *running, __local float *weights, __local float *parts,
                              __local float *sum_parts, __local float *factors, int tile, const struct view *view)
{
    int lane = (int)get_local_id(0);
    __local float *half_row = weights + lane / 2 * (BLOCK + 1) + lane % 2 * (BLOCK / 2);
    parts[lane] = mask_half_row(half_row, tile + lane % 2 * (BLOCK / 2), view);
    barrier(CLK_LOCAL_MEM_FENCE);
    float largest = fmax(running->maximum, fmax(parts[lane], parts[lane ^ 1]));
    /* For a query that has seen no key yet, subtracts 0 instead of -inf, which makes the weights 0, not NaN. */
    float subtracted = largest == -INFINITY ? 0.0f : largest;
    float factor = exp(running->maximum - subtracted);
    sum_parts[lane] = weigh_half_row(half_row, subtracted);
    if (lane % 2 == 0) {
        factors[lane / 2] = factor;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    running->total = running->total * factor + (sum_parts[lane & ~1] + sum_parts[lane | 1]);
    running->maximum = largest;
}

/* Every eighth output column of four queries; one member per column, because Intel's compiler would keep an array
 * in memory. */
struct column_sums {
    float4 s0, s1, s2, s3, s4, s5, s6, s7;
};

/* Expands DO(8 c, sum c, a, b) for each column c of a work-item. */
#define EACH_COLUMN(DO, sums, a, b)                                                                                    \
    IF_COLUMN(0, DO, sums, a, b)                                                                                       \
    IF_COLUMN(1, DO, sums, a, b)                                                                                       \
    IF_COLUMN(2, DO, sums, a, b)                                                                                       \
    IF_COLUMN(3, DO, sums, a, b)                                                                                       \
    IF_COLUMN(4, DO, sums, a, b)                                                                                       \
    IF_COLUMN(5, DO, sums, a, b)                                                                                       \
    IF_COLUMN(6, DO, sums, a, b)                                                                                       \
    IF_COLUMN(7, DO, sums, a, b)
#define IF_COLUMN(c, DO, sums, a, b)                                                                                   \
    if (c < COLUMNS) {                                                                                                 \
        DO(8 * c, sums->s##c, a, b)                                                                                    \
    }
#define ADD_COLUMN(c, sum, weights, row)  sum = fma(weights, (float4)(row[c]), sum);
#define PUT_COLUMN(c, sum, target, shares) put_column(target, c, sum * shares);

/* sums += weights times the rows of a tile: the weight of row j for row r is weights[r * row_step + j *
 * step]. */
static inline void add_tile_rows(struct column_sums *sums, const __local float *weights, int row_step, int step,
                                 const __local float *rows, int count)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
#pragma unroll 1
    for (int j = 0; j < count; j++) {
        const __local float *weight = weights + row4 * row_step + j * step;
        float4 row_weights = (float4)(weight[0], weight[row_step], weight[2 * row_step], weight[3 * row_step]);
        const __local float *row = rows + j * COLUMNS * 8 + column;
        EACH_COLUMN(ADD_COLUMN, sums, row_weights, row)
    }
}

/* to = sums * shares, one share per row, for `count` rows and `width` columns. */
static inline void put_sums(__global float *to, int stride, int count, int width, const struct column_sums *sums,
                            float4 shares)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
    const struct columns target = {to + (size_t)row4 * stride + column, stride, count - row4, width - column};
    EACH_COLUMN(PUT_COLUMN, sums, &target, shares)
}
