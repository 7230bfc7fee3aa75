/* Measures the peak rate of a level's matrix instructions, with operands in registers.
 *
 * Needs PRECISION and a level's macro. */
#include "include/matrix.cl"

#define NUMBERS 0x3c003c00u /* two normal numbers in fp16 and in bf16 */
#ifdef FEW_REGISTERS
#define TILES 4
#else
#define TILES 8 /* independent sums, which cover the latency of the instructions */
#endif

/* A group is one warp. It executes 2 * TILES * MATRIX_ROWS * MATRIX_COLUMNS operations per round and input of a
 * slice. sums (groups * MATRIX_LANES). */
GPU_KERNEL_OF(MATRIX_LANES) void peak_matrix_gpu(__global float *sums, int rounds, float factor)
{
    uint4 a[A_WORDS], b[B_WORDS];
    matrix_sum own[TILES][MATRIX_SUMS];
    for (int i = 0; i < A_WORDS; i++) {
        a[i] = (uint4)(NUMBERS + i);
    }
    for (int i = 0; i < B_WORDS; i++) {
        b[i] = (uint4)(NUMBERS + i);
    }
    for (int i = 0; i < TILES; i++) {
        clear_sums(own[i]);
    }
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        a[0].x = NUMBERS + (uint)round % 256; /* varies, so no product can be hoisted */
        UNROLL_SLICES
        for (int i = 0; i < TILES; i++) {
            multiply_slice(own[i], a, b);
        }
    }
    float sum = 0.0f;
    for (int i = 0; i < TILES; i++) {
        for (int j = 0; j < MATRIX_SUMS; j++) {
            sum += (float)own[i][j];
        }
    }
    sums[get_global_id(0)] = factor * sum;
}
