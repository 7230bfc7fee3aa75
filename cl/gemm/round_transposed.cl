/* Rounds the transpose of scale * x, x (M, N), to 16 bits for GEMMs with matrix instructions over the M
 * rows (gradients of weights). Rows are padded with zeros to whole slices. Needs PRECISION, fp16 or bf16. */
#include "math/gemm/layout.h"
#include "include/operand16.cl"

#define TRANSPOSE_ARGUMENTS int pitch, const __global float *x, int x_offset, int x_stride, int rows, int columns, float scale

/* Loads word `word` of a column: eight rows, zeros beyond the last row. */
static inline uint4 load_column_word(const __global float *x, int stride, int word, int rows, float scale)
{
    float values[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        values[i] = word * 8 + i < rows ? scale * x[(size_t)(word * 8 + i) * stride] : 0.0f;
    }
    return pack_word16((float4)(values[0], values[1], values[2], values[3]),
                       (float4)(values[4], values[5], values[6], values[7]));
}

/* A group processes PANEL columns and GROUP / PANEL words of each; neighbouring work-items read neighbouring
 * columns. */
#define COLUMN ((int)get_group_id(0) * PANEL + (int)get_local_id(0) % PANEL)
#define WORD   ((int)get_group_id(1) * (GROUP / PANEL) + (int)get_local_id(0) / PANEL)

/* out (N, M) as gemm_matrix.cl reads rows; pitch: words of a row. */
GPU_KERNEL void transpose_rows_gpu(__global uint4 *out, TRANSPOSE_ARGUMENTS)
{
    if (COLUMN < columns && WORD < pitch) {
        out[(size_t)COLUMN * pitch + WORD] = load_column_word(x + x_offset + COLUMN, x_stride, WORD, rows, scale);
    }
}

/* out (N, M) as gemm_matrix.cl reads a weight of N outputs; pitch: words of an output. */
GPU_KERNEL void transpose_panels_gpu(__global uint4 *out, TRANSPOSE_ARGUMENTS)
{
    if (WORD < pitch) {
        out[((size_t)(COLUMN / PANEL) * pitch + WORD) * PANEL + COLUMN % PANEL] =
            COLUMN < columns ? load_column_word(x + x_offset + COLUMN, x_stride, WORD, rows, scale) : (uint4)(0);
    }
}
