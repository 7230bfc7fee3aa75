/* The product of gemm_matrix.cl for few rows, where reading W is all the work: a group takes one tile of the matrix instructions,
 * MATRIX_ROWS rows by MATRIX_COLUMNS outputs, and each of its warps a chunk of K at a time. Fragments come straight from global
 * memory, all of a chunk's words of W asked for at once. The bits are those of gemm_matrix.cl.
 *
 * Needs PRECISION and WARPS, the warps of a group. */
#include "include/matrix.cl"
#define B_TILES 1
#include "include/matrix_result.cl"

/* A word of a row of x, zero where there is no such row. */
static inline uint4 load_x(const struct matrix_result *result, int row, int word)
{
    return row < result->rows ? result->x[(size_t)row * result->x_pitch + word] : (uint4)(0);
}

/* sums = the products of slices first .. first + CHUNK_SLICES - 1, those of them that there are. w: output 0 of the tile. */
static inline void multiply_chunk(matrix_sum *sums, const struct matrix_result *result, int row, const __global uint4 *w,
                                  int first)
{
    uint4 b[CHUNK_SLICES][B_WORDS], a[A_WORDS];
    int count = min(CHUNK_SLICES, result->slices - first);
    w += (size_t)first * (SLICE_WORDS * PANEL);
#pragma unroll
    for (int s = 0; s < CHUNK_SLICES; s++) {
#pragma unroll
        for (int i = 0; i < B_WORDS; i++) {
            b[s][i] = s < count ? w[(s * SLICE_WORDS + B_WORD(LANE, i)) * PANEL + B_ROW(LANE, i)] : (uint4)(0);
        }
    }
    clear_sums(sums);
#pragma unroll
    for (int s = 0; s < CHUNK_SLICES; s++) {
        if (s < count) {
#pragma unroll
            for (int i = 0; i < A_WORDS; i++) {
                a[i] = load_x(result, row + A_ROW(LANE, i), (first + s) * SLICE_WORDS + A_WORD(LANE, i));
            }
            multiply_slice(sums, a, b[s]);
        }
    }
}

GPU_KERNEL_OF(MATRIX_LANES *WARPS) void gemm_matrix_rows_gpu(MATRIX_ARGUMENTS)
{
    __local matrix_sum parts[WARPS][MATRIX_SUMS][MATRIX_LANES];
    const struct matrix_result result = MATRIX_RESULT;
    int column = (int)get_group_id(0) * MATRIX_COLUMNS, row = (int)get_group_id(1) * MATRIX_ROWS;
    int chunks = (result.slices + CHUNK_SLICES - 1) / CHUNK_SLICES;
    const __global uint4 *from = w + column / PANEL * panel_words(result.slices) + column % PANEL;
    matrix_sum sums[MATRIX_SUMS], totals[1][MATRIX_SUMS];
    clear_sums(totals[0]);
    for (int first = 0; first < chunks; first += WARPS) {
        if (first + WARP < chunks) {
            multiply_chunk(sums, &result, row, from, (first + WARP) * CHUNK_SLICES);
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                parts[WARP][i][LANE] = sums[i];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int chunk = 0; WARP == 0 && chunk < min(WARPS, chunks - first); chunk++) {
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                totals[0][i] += parts[chunk][i][LANE];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (WARP == 0) {
        finish_tiles(totals, row, column, &result);
    }
}
