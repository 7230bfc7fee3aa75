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
                             int rows, int inputs, __local float *shared)
{
    int item = (int)get_local_id(0), row = (int)get_group_id(0);
    const __global float *from = x + x_offset + (size_t)row * x_stride;
    __global char *to = (__global char *)(out + (size_t)row * pitch);
    float lo = 0.0f, hi = 0.0f, broken = 0.0f;
    for (int k = item; k < inputs; k += GROUP) {
        float v = from[k];
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        broken = fma(v, 0.0f, broken);
    }
    lo = -group_max(shared, 0.0f - lo); /* of -lo Intel's CPU runtime makes 0 in rows of both signs */
    hi = group_max(shared, hi);
    broken = group_sum(shared, broken);
    float inverse, scale = scale_of_range(lo, hi, broken, &inverse);
    int zero = -quantize(lo, inverse) - 128;
    for (int k = item; k < (inputs + 3) / 4 * 4; k += GROUP) {
        to[k] = (char)(k < inputs ? quantize(from[k], inverse) + zero : 0);
    }
    if (item == 0) {
        __global uchar *end = out + (size_t)(row + 1) * pitch;
        *(__global float *)(end - 8) = scale;
        *(__global int *)(end - 4) = zero;
    }
}
