/* Matrix instructions of AMD's RDNA3 GPUs: v_wmma of 16 x 16 x 16 in wavefronts of 32, through built-in functions of
 * clang. See matrix.cl.
 *
 * Two instructions multiply a slice of halves, four instructions a slice of bytes. A lane holds a whole row of the
 * slice; lanes 16 to 31 hold the same rows as lanes 0 to 15. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define MATRIX_LANES   32
#define MATRIX_ROWS    16
#define MATRIX_COLUMNS 16
#define MATRIX_SUMS    8

#define A_WORDS         4
#define A_ROW(lane, i)  ((lane) % 16)
#define A_WORD(lane, i) (i)
#define B_WORDS         4
#define B_ROW(lane, i)  ((lane) % 16)
#define B_WORD(lane, i) (i)

#define SUM_ROW(lane, i)    (2 * (i) + (lane) / 16)
#define SUM_COLUMN(lane, i) ((lane) % 16)

#if PRECISION == 3
typedef int8 wmma_sums;
#else
typedef float8 wmma_sums;
#endif

#if PRECISION == 1
typedef half wmma_halves __attribute__((ext_vector_type(16)));
#define WMMA(a, b, sums)                                                                                               \
    __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_astype(a, wmma_halves), __builtin_astype(b, wmma_halves), sums)
#elif PRECISION == 2
typedef short wmma_halves __attribute__((ext_vector_type(16)));
#define WMMA(a, b, sums)                                                                                               \
    __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_astype(a, wmma_halves), __builtin_astype(b, wmma_halves), sums)
#else
#define WMMA_BYTES(a, b, sums)                                                                                         \
    __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, as_int4(a), true, as_int4(b), sums, false)
#define WMMA(a, b, sums) WMMA_BYTES((a).hi, (b).hi, WMMA_BYTES((a).lo, (b).lo, sums))
#endif

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    wmma_sums own = (wmma_sums)(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]);
    own = WMMA((uint8)(a[0], a[1]), (uint8)(b[0], b[1]), own);
    own = WMMA((uint8)(a[2], a[3]), (uint8)(b[2], b[3]), own);
    sums[0] = own.s0;
    sums[1] = own.s1;
    sums[2] = own.s2;
    sums[3] = own.s3;
    sums[4] = own.s4;
    sums[5] = own.s5;
    sums[6] = own.s6;
    sums[7] = own.s7;
}
