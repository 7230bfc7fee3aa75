/* sums (MATRIX_ROWS, MATRIX_COLUMNS) = A Bᵀ of one slice, by one warp. The host checks them to find out
 * whether the device has the matrix instructions of a level and whether the lanes hold the elements that
 * the level's file states. a: MATRIX_ROWS rows of SLICE_WORDS words; b: MATRIX_COLUMNS such rows.
 *
 * Needs PRECISION and a level's macro. */
#include "include/matrix.cl"

GPU_KERNEL_OF(MATRIX_LANES) void probe_matrix_gpu(__global matrix_sum *sums, const __global uint4 *a, const __global uint4 *b)
{
    uint4 a_words[A_WORDS], b_words[B_WORDS];
    matrix_sum own[MATRIX_SUMS];
    for (int i = 0; i < A_WORDS; i++) {
        a_words[i] = a[A_ROW(LANE, i) * SLICE_WORDS + A_WORD(LANE, i)];
    }
    for (int i = 0; i < B_WORDS; i++) {
        b_words[i] = b[B_ROW(LANE, i) * SLICE_WORDS + B_WORD(LANE, i)];
    }
    clear_sums(own);
    multiply_slice(own, a_words, b_words);
    for (int i = 0; i < MATRIX_SUMS; i++) {
        sums[SUM_ROW(LANE, i) * MATRIX_COLUMNS + SUM_COLUMN(LANE, i)] = own[i];
    }
}
