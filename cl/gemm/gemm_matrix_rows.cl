/* The GEMM of gemm_matrix.cl for few rows, where reading W dominates: a group computes one tile (matrix_rows.cl),
 * with the same bits.
 *
 * Needs PRECISION and WARPS, the warps of a group. */
#include "include/matrix.cl"
#define B_TILES 1
#include "include/matrix_result.cl"
#include "include/matrix_rows.cl"

GPU_KERNEL_OF(MATRIX_LANES *WARPS) void gemm_matrix_rows_gpu(MATRIX_ARGUMENTS)
{
    __local matrix_sum parts[WARPS * WARP_PARTS] __attribute__((aligned(16)));
    const struct matrix_result result = result_of(MATRIX_NAMES);
    int column = (int)get_group_id(0) * MATRIX_COLUMNS, row = (int)get_group_id(1) * MATRIX_ROWS;
    const struct tile_warps at = {WARP, WARPS, parts};
    matrix_sum totals[1][MATRIX_SUMS];
    multiply_tile(totals[0], &result, row, tile_of(w, column, result.slices), &at);
    if (WARP == 0) {
        finish_tiles(totals, row, column, &result);
    }
}
