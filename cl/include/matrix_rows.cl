/* Rows of sums across the lanes of a warp: the maximum and the total of a row, and sums as operands of the next product. Include
 * this file after matrix.cl and operand16.cl.
 *
 * Sums 2i and 2i + 1 of a lane belong to one row. A lane has LANE_ROWS rows, ROW_LANES neighbouring lanes share a row. If the
 * level has no SHUFFLE_XOR or no SUMS_ARE_OPERANDS, lanes exchange sums in local memory: NEEDS_ALL_WARPS is defined, all
 * work-items of a group call these functions together, and each warp passes EXCHANGE_WORDS words of 16 bytes. */
#ifndef SUMS_ARE_PAIRED
#error "the rows of a lane need pairs of sums"
#endif

#define LANE_ROWS   (MATRIX_SUMS / 2)
#define SLICE_TILES 4 /* tiles of sums whose columns make a slice of 32 halves */
#if MATRIX_COLUMNS * SLICE_TILES != 8 * SLICE_WORDS
#error "a slice is four tiles of sums"
#endif

#if defined(SHUFFLE_XOR) && defined(SUMS_ARE_OPERANDS)
#define EXCHANGE_WORDS  0
#else
#define NEEDS_ALL_WARPS
#define EXCHANGE_WORDS  (MATRIX_ROWS * SLICE_WORDS)
#endif

/* Two floats in 16 bits, without the limit of pack_operand16(). */
#ifndef ROUND_PAIR
#define ROUND_PAIR(low, high) pack_operand16((float2)(low, high))
#endif

/* The same combination of the values of the lanes that share a row, in each of them. */
#ifdef SHUFFLE_XOR
#define DEFINE_ROW_REDUCTION(NAME, COMBINE)                                                                            \
    static inline float NAME(float value, __local uint4 *exchange)                                                     \
    {                                                                                                                  \
        for (int distance = 1; distance < ROW_LANES; distance *= 2) {                                                  \
            value = COMBINE(value, SHUFFLE_XOR(value, distance));                                                      \
        }                                                                                                              \
        return value;                                                                                                  \
    }
#else
#define DEFINE_ROW_REDUCTION(NAME, COMBINE)                                                                            \
    static inline float NAME(float value, __local uint4 *exchange)                                                     \
    {                                                                                                                  \
        __local float *values = (__local float *)exchange;                                                             \
        for (int distance = 1; distance < ROW_LANES; distance *= 2) {                                                  \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            values[LANE] = value;                                                                                      \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            value = COMBINE(value, values[LANE ^ distance]);                                                           \
        }                                                                                                              \
        return value;                                                                                                  \
    }
#endif
#define ADD(a, b) ((a) + (b))
DEFINE_ROW_REDUCTION(row_max, fmax)
DEFINE_ROW_REDUCTION(row_sum, ADD)

/* The place of column `column` of a slice of sums among the halves of the slice of A that round_sums() returns. */
#define OPERAND_PLACE(column) ((column) % MATRIX_COLUMNS / 2 * 8 + (column) / MATRIX_COLUMNS * 2 + (column) % 2)

/* a = SLICE_TILES tiles of sums, rounded: a slice of A whose columns are in the order of OPERAND_PLACE. */
static inline void round_sums(uint4 *a, const matrix_sum (*sums)[MATRIX_SUMS], __local uint4 *exchange)
{
    uint4 own[LANE_ROWS];
#pragma unroll
    for (int i = 0; i < LANE_ROWS; i++) {
        own[i] = (uint4)(ROUND_PAIR(sums[0][2 * i], sums[0][2 * i + 1]), ROUND_PAIR(sums[1][2 * i], sums[1][2 * i + 1]),
                         ROUND_PAIR(sums[2][2 * i], sums[2][2 * i + 1]), ROUND_PAIR(sums[3][2 * i], sums[3][2 * i + 1]));
    }
#ifdef SUMS_ARE_OPERANDS
#pragma unroll
    for (int i = 0; i < A_WORDS; i++) {
        a[i] = own[i];
    }
#else
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < LANE_ROWS; i++) {
        exchange[TILE_PLACE(MATRIX_ROWS, SUM_ROW(LANE, 2 * i), SUM_COLUMN(LANE, 0) / 2)] = own[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    load_a_tile(a, exchange, MATRIX_ROWS, 0);
#endif
}
