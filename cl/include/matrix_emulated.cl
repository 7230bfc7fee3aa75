/* The matrix instructions of matrix_nv80.cl in plain OpenCL C, so that the kernels for them run on any device: slow, for tests.
 * A lane loads whole rows of A and B, those of its own sums. */
#define MATRIX_LANES   32
#define MATRIX_ROWS    16
#define MATRIX_COLUMNS 8
#define MATRIX_SUMS    4

#define A_WORDS         (2 * SLICE_WORDS)
#define A_ROW(lane, i)  ((lane) / 4 + (i) / SLICE_WORDS * 8)
#define A_WORD(lane, i) ((i) % SLICE_WORDS)
#define B_WORDS         (2 * SLICE_WORDS)
#define B_ROW(lane, i)  ((lane) % 4 * 2 + (i) / SLICE_WORDS)
#define B_WORD(lane, i) ((i) % SLICE_WORDS)

#define SUM_ROW(lane, i)    ((lane) / 4 + (i) / 2 * 8)
#define SUM_COLUMN(lane, i) ((lane) % 4 * 2 + (i) % 2)
#define SUMS_ARE_PAIRED

#if PRECISION == 1
static inline float add_word(float sum, uint a, uint b)
{
    sum = fma(vload_half(0, (const half *)&a), vload_half(0, (const half *)&b), sum);
    return fma(vload_half(1, (const half *)&a), vload_half(1, (const half *)&b), sum);
}
#elif PRECISION == 2
static inline float add_word(float sum, uint a, uint b)
{
    sum = fma(as_float(a << 16), as_float(b << 16), sum);
    return fma(as_float(a & 0xffff0000u), as_float(b & 0xffff0000u), sum);
}
#else
static inline int add_word(int sum, uint a, uint b)
{
    int4 products = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return sum + products.x + products.y + products.z + products.w;
}
#endif

static inline matrix_sum add_words(matrix_sum sum, uint4 a, uint4 b)
{
    return add_word(add_word(add_word(add_word(sum, a.x, b.x), a.y, b.y), a.z, b.z), a.w, b.w);
}

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    for (int i = 0; i < MATRIX_SUMS; i++) {
        for (int word = 0; word < SLICE_WORDS; word++) {
            sums[i] = add_words(sums[i], a[i / 2 * SLICE_WORDS + word], b[i % 2 * SLICE_WORDS + word]);
        }
    }
}
