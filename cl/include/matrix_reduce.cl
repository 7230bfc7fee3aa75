/* Reduces rows of sums across the lanes of a warp (maximum and total of a row), and turns sums into operands of the
 * next product. Include after matrix.cl and operand16.cl.
 *
 * A lane has sums in LANE_ROWS rows, ROW_SUMS neighbouring sums in each; those of row r start at ROW_SUMS * r.
 * ROW_LANES neighbouring lanes share the rows. If the level has no SHUFFLE_XOR or no SUMS_ARE_OPERANDS, lanes
 * exchange values in local memory: then NEEDS_ALL_WARPS is defined, all work-items of a group call these functions
 * together, and each warp provides EXCHANGE_WORDS 16-byte words. */
#ifdef SUMS_ARE_PAIRED
#define ROW_SUMS 2
#else
#define ROW_SUMS 1
#endif
#define LANE_ROWS   (MATRIX_SUMS / ROW_SUMS)
#define ROW_LANES   (MATRIX_COLUMNS / ROW_SUMS)
#define SLICE_TILES (8 * SLICE_WORDS / MATRIX_COLUMNS) /* tiles of sums whose columns make a slice of halves */

#if defined(SHUFFLE_XOR) && defined(SUMS_ARE_OPERANDS)
#define EXCHANGE_WORDS 0
#else
#define NEEDS_ALL_WARPS
#define EXCHANGE_WORDS (MATRIX_ROWS * SLICE_WORDS)
#endif

/* Rounds two floats to 16 bits, without the clamping of pack_operand16(). */
#ifndef ROUND_PAIR
#define ROUND_PAIR(low, high) pack_operand16((float2)(low, high))
#endif

/* Combines the values of the lanes that share a row; every lane gets the result. */
#ifdef SHUFFLE_XOR
#define PASS_TO_ROW(passed, value, distance, exchange) float passed = SHUFFLE_XOR(value, distance);
#else
#define PASS_TO_ROW(passed, value, distance, exchange)                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    ((__local float *)(exchange))[LANE] = value;                                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    float passed = ((__local float *)(exchange))[LANE ^ (distance)];
#endif
#define DEFINE_ROW_REDUCTION(NAME, COMBINE)                                                                            \
    static inline float NAME(float value, __local uint4 *exchange)                                                     \
    {                                                                                                                  \
        for (int distance = 1; distance < ROW_LANES; distance *= 2) {                                                  \
            PASS_TO_ROW(passed, value, distance, exchange)                                                             \
            value = COMBINE(value, passed);                                                                            \
        }                                                                                                              \
        return value;                                                                                                  \
    }
#define ADD(a, b) ((a) + (b))
DEFINE_ROW_REDUCTION(row_max, fmax)
DEFINE_ROW_REDUCTION(row_sum, ADD)

/* A lane's sums in a row of a slice of tiles become LANE_HALVES neighbouring halves of A. OPERAND_COLUMN: the column of sums that
 * half `place` of the slice comes from. */
#define LANE_HALVES (SLICE_TILES * ROW_SUMS)
#define OPERAND_COLUMN(place)                                                                                          \
    ((place) % LANE_HALVES / ROW_SUMS * MATRIX_COLUMNS + (place) / LANE_HALVES * ROW_SUMS + (place) % ROW_SUMS)

/* a = SLICE_TILES tiles of sums, rounded: a slice of A with columns in the order of OPERAND_COLUMN. */
static inline void round_sums(uint4 *a, const matrix_sum (*sums)[MATRIX_SUMS], __local uint4 *exchange)
{
    uint own[LANE_ROWS][LANE_HALVES / 2];
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
#pragma unroll
        for (int i = 0; i < LANE_HALVES; i += 2) {
            own[r][i / 2] = ROUND_PAIR(sums[i / ROW_SUMS][r * ROW_SUMS + i % ROW_SUMS],
                                       sums[(i + 1) / ROW_SUMS][r * ROW_SUMS + (i + 1) % ROW_SUMS]);
        }
    }
#ifdef SUMS_ARE_OPERANDS
#pragma unroll
    for (int i = 0; i < A_WORDS; i++) {
        a[i] = (uint4)(own[i][0], own[i][1], own[i][2], own[i][3]);
    }
#else
    __local uint *pairs = (__local uint *)exchange;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = 0; r < LANE_ROWS; r++) {
        for (int i = 0; i < LANE_HALVES / 2; i++) {
            int pair = SUM_COLUMN(LANE, 0) / ROW_SUMS * (LANE_HALVES / 2) + i;
            pairs[4 * TILE_PLACE(MATRIX_ROWS, SUM_ROW(LANE, ROW_SUMS * r), pair / 4) + pair % 4] = own[r][i];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    load_a_tile(a, exchange, MATRIX_ROWS, 0);
#endif
}
