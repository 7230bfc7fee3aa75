/* What matrix_dpas8.cl and matrix_dpas16.cl share: the fragments of Intel's matrix instructions (dpas), through the functions of
 * cl_intel_subgroup_matrix_multiply_accumulate. See matrix.cl. Needs MATRIX_LANES, the smallest sub-group size of the device.
 *
 * An instruction multiplies 8 rows of A by MATRIX_LANES rows of B over 32 bytes of K, 16 halves or 32 bytes, of which a lane holds
 * all of its row of B and 32 / MATRIX_LANES of each row of A. Two instructions multiply a slice. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define MATRIX_ROWS    8
#define MATRIX_COLUMNS MATRIX_LANES
#define MATRIX_SUMS    8
#define FEW_REGISTERS

#define INSTRUCTIONS 2 /* for a slice */
#define LANE_UNIT(lane) ((lane) / (MATRIX_LANES / 8)) /* the unit of 4 bytes that the lane's part of A is in */

#define A_WORDS         (INSTRUCTIONS * MATRIX_ROWS)
#define A_ROW(lane, i)  ((i) / INSTRUCTIONS)
#define A_WORD(lane, i) ((i) % INSTRUCTIONS * 2 + LANE_UNIT(lane) / 4)
#define B_WORDS         SLICE_WORDS
#define B_ROW(lane, i)  ((lane) % MATRIX_LANES)
#define B_WORD(lane, i) (i)

#define SUM_ROW(lane, i)    (i)
#define SUM_COLUMN(lane, i) ((lane) % MATRIX_LANES)

/* The part of A of a lane in one row, and those of all rows. */
#if MATRIX_LANES == 8
typedef int dpas_part;
typedef int8 dpas_parts;
#define PARTS_WORDS     2
#define PART_OF(unit)   ((int)(unit))
#define PARTS_OF(words) as_int8((uint8)((words)[0], (words)[1]))
#else
typedef short dpas_part;
typedef short8 dpas_parts;
#define PARTS_WORDS     1
#define PART_OF(unit)   ((short)((unit) >> LANE % 2 * 16))
#define PARTS_OF(words) as_short8((words)[0])
#endif

#if PRECISION == 3
typedef int8 dpas_sums;
#define DPAS intel_sub_group_i8_i8_matrix_mad_k32
#elif PRECISION == 2
typedef float8 dpas_sums;
#define DPAS intel_sub_group_bf16_bf16_matrix_mad_k16
#else
typedef float8 dpas_sums;
#define DPAS intel_sub_group_f16_f16_matrix_mad_k16
#endif

#ifdef DPAS_EMULATED
#include "include/matrix_dpas_emulated.cl"
#else /* a kernel that includes this file needs this sub-group size */
#undef GPU_KERNEL_OF
#define GPU_KERNEL_OF(items)                                                                                           \
    __kernel __attribute__((intel_reqd_sub_group_size(MATRIX_LANES))) __attribute__((reqd_work_group_size(items, 1, 1)))
#endif

#define SLICE_STEPS         1
#define A_STEP_WORDS        (INSTRUCTIONS * PARTS_WORDS)
#define B_STEP_WORDS(tiles) ((tiles) * B_WORDS)

static inline void store_parts(uint4 *a, dpas_parts parts)
{
#if MATRIX_LANES == 8
    a[0] = as_uint4(parts.lo);
    a[1] = as_uint4(parts.hi);
#else
    a[0] = as_uint4(parts);
#endif
}

/* The part of row `row` at word 0 of the two words of an instruction. */
#define LOCAL_PART(row)                                                                                                \
    ((const __local dpas_part *)(tile + first + TILE_PLACE(rows, row, 2 * i + LANE_UNIT(LANE) / 4)))[LANE % (MATRIX_LANES / 2)]

static inline void load_a_step(uint4 *a, const __local uint4 *tile, int rows, int first, int step)
{
#pragma unroll
    for (int i = 0; i < INSTRUCTIONS; i++) {
        store_parts(a + i * PARTS_WORDS, (dpas_parts)(LOCAL_PART(0), LOCAL_PART(1), LOCAL_PART(2), LOCAL_PART(3),
                                                      LOCAL_PART(4), LOCAL_PART(5), LOCAL_PART(6), LOCAL_PART(7)));
    }
}

static inline void load_b_step(uint4 *b, int tiles, const __local uint4 *tile, int rows, int first, int step)
{
#pragma unroll
    for (int j = 0; j < tiles; j++) {
#pragma unroll
        for (int i = 0; i < B_WORDS; i++) {
            b[j * B_WORDS + i] = tile[first + j * MATRIX_COLUMNS + TILE_PLACE(rows, B_ROW(LANE, i), B_WORD(LANE, i))];
        }
    }
}

static inline void multiply_step(matrix_sum *sums, const uint4 *a, const uint4 *b, int j)
{
    const uint4 *own = b + j * B_WORDS;
    dpas_sums total = (dpas_sums)(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]);
    total = DPAS(PARTS_OF(a), as_int8((uint8)(own[0], own[1])), total);
    total = DPAS(PARTS_OF(a + PARTS_WORDS), as_int8((uint8)(own[2], own[3])), total);
    sums[0] = total.s0;
    sums[1] = total.s1;
    sums[2] = total.s2;
    sums[3] = total.s3;
    sums[4] = total.s4;
    sums[5] = total.s5;
    sums[6] = total.s6;
    sums[7] = total.s7;
}

/* Returns the lane's part of a word. */
static inline dpas_part part_of(uint4 word)
{
    int unit = LANE_UNIT(LANE) % 4;
    return PART_OF(unit == 0 ? word.x : unit == 1 ? word.y : unit == 2 ? word.z : word.w);
}

#define WORD_PART(row) part_of(a[INSTRUCTIONS * (row) + i])

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    uint4 own[A_STEP_WORDS];
#pragma unroll
    for (int i = 0; i < INSTRUCTIONS; i++) {
        store_parts(own + i * PARTS_WORDS, (dpas_parts)(WORD_PART(0), WORD_PART(1), WORD_PART(2), WORD_PART(3), WORD_PART(4),
                                                        WORD_PART(5), WORD_PART(6), WORD_PART(7)));
    }
    multiply_step(sums, own, b, 0);
}

/* For slices in global memory. */
#define GLOBAL_PART(row) ((row) < rows ? parts[(row) * stride + i * MATRIX_LANES] : (dpas_part)0)

static inline void fetch_a(uint4 *a, const FRESH __global uint4 *x, int pitch, int rows)
{
    const FRESH __global dpas_part *parts = (const FRESH __global dpas_part *)x + LANE;
    int stride = pitch * (int)(sizeof(uint4) / sizeof(dpas_part));
#pragma unroll
    for (int i = 0; i < INSTRUCTIONS; i++) {
        store_parts(a + i * PARTS_WORDS, (dpas_parts)(GLOBAL_PART(0), GLOBAL_PART(1), GLOBAL_PART(2), GLOBAL_PART(3), GLOBAL_PART(4),
                                                      GLOBAL_PART(5), GLOBAL_PART(6), GLOBAL_PART(7)));
    }
}

static inline void fetch_b(uint4 *b, const __global uint4 *w, int is_there)
{
#pragma unroll
    for (int i = 0; i < B_WORDS; i++) {
        b[i] = is_there ? w[B_WORD(LANE, i) * PANEL + B_ROW(LANE, i)] : (uint4)(0);
    }
}

#define FETCHED_SLICES   1 /* more would not fit in the registers */
#define BATCHES_HELD     1
#define A_EXCHANGE_WORDS 0
#define exchange_a(a, slices, exchange)
#define multiply_fetched(sums, a, b) multiply_step(sums, a, b, 0)
