/* Rows of activations in 8 bits, for products with int8 weights: operand_int8.cl has the formula.
 *
 * out: a row is `pitch` bytes: its q, zeros (as q) to a multiple of four of them, and in the last four bytes s. */
#include "operand_int8.cl"

/* Groups: any number, each takes whole rows. */
CPU_KERNEL void quantize_cpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        quantize_row_global(out + (size_t)row * pitch, pitch, x + x_offset + (size_t)row * x_stride, inputs);
    }
}

/* A group: one row. */
GPU_KERNEL void quantize_gpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                             int rows, int inputs)
{
    __local float shared[GROUP];
    int item = (int)get_local_id(0), row = (int)get_group_id(0);
    const __global float *from = x + x_offset + (size_t)row * x_stride;
    __global char *to = (__global char *)(out + (size_t)row * pitch);
    float largest = 0.0f;
    for (int k = item; k < inputs; k += GROUP) {
        float size = fabs(from[k]);
        largest = size < largest ? largest : isnan(size) ? INFINITY : size;
    }
    largest = group_max(shared, largest);
    float inverse, scale = scale_of_largest(as_uint(largest), &inverse);
    for (int k = item; k < (inputs + 3) / 4 * 4; k += GROUP) {
        to[k] = (char)(k < inputs ? quantize(from[k], inverse) : 0);
    }
    if (item == 0) {
        *(__global float *)(out + (size_t)(row + 1) * pitch - 4) = scale;
    }
}
