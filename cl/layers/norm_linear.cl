/* A norm and the linear layer that reads it, for the few rows of a decoding step, in one launch:
 *
 *   normed = norm(sums), y = activation(normed Wᵀ + b)
 *
 * A group computes a tile of y: it normalises the rows of the tile, stores them and reads them again. The first group of the
 * rows stores them in normed and operands, the others in copies of their own, so no group waits for another. The functions are
 * those of the kernels that separate launches would run, so the bits are the same. normed and operands are as in
 * linear_pair.cl; neither may be sums. copies: for each group of a row the rows that its GEMM reads, with their stride.
 *
 * GPU variant only. Needs the macros of linear_rows.cl. */
#include "math/ops/arguments.h"
#include "include/linear_rows.cl"

/* A group per TILE_COLUMNS outputs and TILE_ROWS rows. */
GPU_KERNEL_OF(ITEMS) void norm_linear_gpu(__local float4 *memory, const __global float *sums, const __global float *gamma,
                                          const __global float *beta, __global float *normed, __global ushort *operands,
                                          __global float *copies, const __global weight_element *w, const __global float *b,
                                          __global float *y, struct clf__linear_pair_sizes sizes)
{
    int group = (int)get_group_id(0), row = (int)get_group_id(1) * TILE_ROWS;
    if (group > 0) { /* takes its copies */
        sizes.NORMED(normed, operands).offset = group * sizes.rows * sizes.NORMED(normed, operands).stride;
#if PRECISION == 3 || defined(WARPS)
        normed = 0;
        operands = (__global ushort *)copies;
#else
        normed = copies;
        operands = 0;
#endif
    }
    norm_rows(memory, row, min(row + TILE_ROWS, sizes.rows), sums, normed, operands, gamma, beta, &sizes);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const struct gemm gemm = gemm_of_normed(normed, operands, w, b, y, &sizes);
    multiply_rows(memory, &gemm, sizes.rows, row, group * TILE_COLUMNS);
}
