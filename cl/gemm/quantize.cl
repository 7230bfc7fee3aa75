/* Rows of activations in 8 bits, for GEMMs with int8 weights: operand_int8.cl has the formula.
 *
 * A row of `out` has `pitch` bytes: the operands, padded with zeros to a multiple of four, and in the last
 * eight bytes the scale s as a float and the zero point as an integer (q = operand - zero point). */
#include "include/operand_int8.cl"

/* Any number of groups; each processes whole rows. */
CPU_KERNEL void quantize_cpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        quantize_row_global(out + (size_t)row * pitch, pitch, x + x_offset + (size_t)row * x_stride, inputs);
    }
}

/* A group quantizes one row. shared (GROUP) is a parameter because PoCL 3.1 gives an array declared in this kernel
 * one address for all threads. */
GPU_KERNEL void quantize_gpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs, __local float2 *shared)
{
    int row = (int)get_group_id(0);
    quantize_row_gpu(shared, out + (size_t)row * pitch, pitch, x + x_offset + (size_t)row * x_stride, inputs,
                     (int)get_local_id(0), GROUP);
}
