/* Matrices of rows in private memory, CPU variant of attention_backward.cl: copies, dot products and weighted
 * sums. Included by attention_backward_cpu.cl; not a program. */

static inline void copy_rows(float16 *to, const __global float *rows, int stride, int count, int width)
{
    int n = 0;
    for (; n < count; n++, rows += stride) {
        for (int d = 0; d < width; d += LANES) {
            *to++ = load_columns(rows, d, width);
        }
    }
    for (; n % MOST_ROWS != 0; n++) {
        for (int d = 0; d < width; d += LANES) {
            *to++ = 0.0f;
        }
    }
}

static inline void clear_rows(float16 *rows, int count, int vectors)
{
    int filled = (count + MOST_ROWS - 1) / MOST_ROWS * MOST_ROWS;
    for (int i = 0; i < filled * vectors; i++) {
        rows[i] = 0.0f;
    }
}

/* to = scale * rows, or to += scale * rows. */
static inline void store_rows(__global float *to, int stride, const float16 *rows, int count, int width, float scale,
                              int adds)
{
    for (int n = 0; n < count; n++, to += stride) {
        for (int d = 0; d < width; d += LANES) {
            float16 value = scale * *rows++;
            if (adds) {
                value += load_columns(to, d, width);
            }
            if (d + LANES <= width) {
                vstore16(value, 0, to + d);
            } else {
                store_part(value, to + d, width - d);
            }
        }
    }
}

/* to[r * TILE_VECTORS + v] = row r of BLOCK_QUERIES rows times vector v < COUNT of the packed rows. */
#define DEFINE_DOTS(NAME, COUNT)                                                                                       \
    static inline void NAME(float16 *to, const float16 *packed, const float *rows, int width)                          \
    {                                                                                                                  \
        float16 s[BLOCK_QUERIES][COUNT];                                                                               \
        FOR_SUMS(r, BLOCK_QUERIES, v, COUNT, s[r][v] = 0.0f)                                                           \
        for (int d = 0; d < width; d++) {                                                                              \
            ADD_INPUT(r, BLOCK_QUERIES, v, COUNT, s, MULTIPLY16, float16, packed[v * width + d], float16,              \
                      (float16)(rows[r * VECTORS(width) * LANES + d]))                                                 \
        }                                                                                                              \
        FOR_SUMS(r, BLOCK_QUERIES, v, COUNT, to[r * TILE_VECTORS + v] = s[r][v])                                       \
    }
DEFINE_DOTS(dots_wide, SCORE_VECTORS(BLOCK_QUERIES))
DEFINE_DOTS(dots_one, 1)

/* Like DEFINE_DOTS, for MOST_ROWS rows and `vectors` vectors. */
static inline void dots(float16 *to, const float16 *packed, const float16 *rows, int width, int vectors)
{
    for (int row = 0; row < MOST_ROWS; row += BLOCK_QUERIES) {
        float16 *block = to + row * TILE_VECTORS;
        const float *from = (const float *)(rows + row * VECTORS(width));
        int n = 0;
        for (; n + SCORE_VECTORS(BLOCK_QUERIES) <= vectors; n += SCORE_VECTORS(BLOCK_QUERIES)) {
            dots_wide(block + n, packed + n * width, from, width);
        }
        for (; n < vectors; n++) {
            dots_one(block + n, packed + n * width, from, width);
        }
    }
}

/* to (BLOCK_QUERIES rows of `vectors`) += sum over n < count of weight n of a row times row n of `from`. The first
 * weights of consecutive rows are row_step apart, and consecutive weights of a row `step` apart. COUNT: vectors of
 * columns. */
#define DEFINE_ADD_ROWS(NAME, COUNT)                                                                                   \
    static inline void NAME(float16 *to, const float *weights, int row_step, int step, const float16 *from, int count, \
                            int vectors)                                                                               \
    {                                                                                                                  \
        float16 s[BLOCK_QUERIES][COUNT];                                                                               \
        FOR_SUMS(r, BLOCK_QUERIES, v, COUNT, s[r][v] = to[r * vectors + v])                                            \
        for (int n = 0; n < count; n++, weights += step, from += vectors) {                                            \
            ADD_INPUT(r, BLOCK_QUERIES, v, COUNT, s, MULTIPLY16, float16, from[v], float16,                            \
                      (float16)(weights[r * row_step]))                                                                \
        }                                                                                                              \
        FOR_SUMS(r, BLOCK_QUERIES, v, COUNT, to[r * vectors + v] = s[r][v])                                            \
    }
DEFINE_ADD_ROWS(add_rows_wide, SCORE_VECTORS(BLOCK_QUERIES))
DEFINE_ADD_ROWS(add_rows_one, 1)

/* Like DEFINE_ADD_ROWS, for MOST_ROWS rows. */
static inline void add_rows(float16 *to, const float *weights, int row_step, int step, const float16 *from, int count,
                            int vectors)
{
    for (int row = 0; row < MOST_ROWS; row += BLOCK_QUERIES, to += BLOCK_QUERIES * vectors, weights += BLOCK_QUERIES * row_step) {
        int c = 0;
        for (; c + SCORE_VECTORS(BLOCK_QUERIES) <= vectors; c += SCORE_VECTORS(BLOCK_QUERIES)) {
            add_rows_wide(to + c, weights, row_step, step, from + c, count, vectors);
        }
        for (; c < vectors; c++) {
            add_rows_one(to + c, weights, row_step, step, from + c, count, vectors);
        }
    }
}
