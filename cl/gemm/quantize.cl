/* Rows of activations in 8 bits, for products with int8 weights: operand_int8.cl has the formula.
 *
 * out: a row is `pitch` bytes: its operands, zeros to a multiple of four of them, and in the last eight bytes s as a float
 * and as an integer what is to be subtracted from the operands to make them q. */
#include "include/operand_int8.cl"

/* Groups: any number, each takes whole rows. */
CPU_KERNEL void quantize_cpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        quantize_row_global(out + (size_t)row * pitch, pitch, x + x_offset + (size_t)row * x_stride, inputs);
    }
}

/* A group: one row. shared (GROUP) is a parameter because PoCL 3.1 leaves an array that this kernel declares itself in one
 * place for all its threads. */
GPU_KERNEL void quantize_gpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs, __local float2 *shared)
{
    int row = (int)get_group_id(0);
    quantize_row_gpu(shared, out + (size_t)row * pitch, pitch, x + x_offset + (size_t)row * x_stride, inputs,
                     (int)get_local_id(0), GROUP);
}
