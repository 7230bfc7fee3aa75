/* Rounds rows of activations to 16 bits for GEMMs with matrix instructions (operand16.cl).
 *
 * out has rows of `pitch` bytes, a multiple of 16, padded with zeros to whole slices. Needs PRECISION,
 * fp16 or bf16. */
#include "math/gemm/layout.h"
#include "include/operand16.cl"

/* A group rounds one row. */
GPU_KERNEL void round_operand_gpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                                  int rows, int inputs)
{
    int row = (int)get_group_id(0);
    int words = (inputs + CLF__MATRIX_INPUTS(PRECISION) - 1) / CLF__MATRIX_INPUTS(PRECISION) * CLF__SLICE_WORDS;
    __global uint4 *to = (__global uint4 *)(out + (size_t)row * pitch);
    const __global float *from = x + x_offset + (size_t)row * x_stride;
    for (int word = (int)get_local_id(0); word < words; word += GROUP) {
        to[word] = load_word16(from, word * 8, inputs);
    }
}
