/* The matrix instructions of matrix_nv80.cl in plain OpenCL C, for tests: their kernels run on any device, but
 * slowly. A lane loads the whole rows of A and B of its sums. */
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
#define READS_ROWS /* not in bf16, so tests also cover transposed values */
#endif
#define UNROLL_SLICES _Pragma("unroll 1") /* otherwise PoCL's compiler is slow, and crashes in large
                                           * kernels */

/* Adds the products of the elements of two words as a tree. */
#if PRECISION == 3
static inline int multiply_word(uint4 a, uint4 b)
{
    int16 products = convert_int16(as_char16(a)) * convert_int16(as_char16(b));
    int8 eight = products.lo + products.hi;
    int4 four = eight.lo + eight.hi;
    int2 two = four.lo + four.hi;
    return two.x + two.y;
}
#else
static inline float8 widen_word(uint4 word)
{
    uint8 bits = convert_uint8(as_ushort8(word));
#if PRECISION == 1
    uint8 magnitude = (bits & 0x7fffu) << 13; /* exponents are biased by 15 instead of 127 */
    uint8 number = as_uint8(as_float8(magnitude) * 0x1p112f);
    uint8 value = select(number, magnitude | 0x7f800000u, magnitude >= 0x7c00u << 13);
    return as_float8(value | (bits & 0x8000u) << 16);
#else
    return as_float8(bits << 16);
#endif
}

static inline float multiply_word(uint4 a, uint4 b)
{
    float8 products = widen_word(a) * widen_word(b);
    float4 four = products.lo + products.hi;
    return sum4(four);
}
#endif

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
#pragma unroll 1 /* compilers take minutes otherwise */
    for (int i = 0; i < MATRIX_SUMS; i++) {
#pragma unroll 1
        for (int word = 0; word < SLICE_WORDS; word++) {
            sums[i] += multiply_word(a[i / 2 * SLICE_WORDS + word], b[i % 2 * SLICE_WORDS + word]);
        }
    }
}
