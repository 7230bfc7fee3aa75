/* Matrix instructions of AMD's CDNA GPUs (gfx90a, gfx942): v_mfma of 16 x 16 x 16, through built-in functions of clang. See
 * matrix.cl.
 *
 * Two instructions multiply a slice of halves; a slice of bytes takes four instructions, or two of 16 x 16 x 32 on
 * gfx942. A lane holds four neighbouring halves or bytes (gfx942: eight bytes) of a row for each. Since A and B use the same assignment, this only permutes K within the slice. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define MATRIX_LANES   64
#define MATRIX_ROWS    16
#define MATRIX_COLUMNS 16
#define MATRIX_SUMS    4

#define A_WORDS         1
#define A_ROW(lane, i)  ((lane) % 16)
#define A_WORD(lane, i) ((lane) / 16)
#define B_WORDS         1
#define B_ROW(lane, i)  ((lane) % 16)
#define B_WORD(lane, i) ((lane) / 16)

#define SUM_ROW(lane, i)    ((lane) / 16 * 4 + (i))
#define SUM_COLUMN(lane, i) ((lane) % 16)

#if PRECISION == 3
typedef int4 mfma_sums;
#else
typedef float4 mfma_sums;
#endif

#if PRECISION == 1
typedef half mfma_halves __attribute__((ext_vector_type(4)));
#define MFMA(a, b, sums)                                                                                               \
    __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_astype(a, mfma_halves), __builtin_astype(b, mfma_halves), sums, 0, 0, 0)
#elif PRECISION == 2
typedef short mfma_halves __attribute__((ext_vector_type(4)));
#define MFMA(a, b, sums)                                                                                               \
    __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_astype(a, mfma_halves), __builtin_astype(b, mfma_halves), sums, 0, 0, 0)
#elif defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
#define MFMA(a, b, sums) __builtin_amdgcn_mfma_i32_16x16x32_i8(as_long(a), as_long(b), sums, 0, 0, 0)
#else
#define MFMA(a, b, sums)                                                                                               \
    __builtin_amdgcn_mfma_i32_16x16x16i8((int)(a).y, (int)(b).y,                                                       \
                                         __builtin_amdgcn_mfma_i32_16x16x16i8((int)(a).x, (int)(b).x, sums, 0, 0, 0),  \
                                         0, 0, 0)
#endif

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    mfma_sums own = (mfma_sums)(sums[0], sums[1], sums[2], sums[3]);
    own = MFMA(a[0].lo, b[0].lo, own);
    own = MFMA(a[0].hi, b[0].hi, own);
    sums[0] = own.x;
    sums[1] = own.y;
    sums[2] = own.z;
    sums[3] = own.w;
}
