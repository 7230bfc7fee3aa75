/* Rounds rows of activations to bf16, for GEMMs of the CPU variant with bf16 weights; GPU variants round while
 * loading.
 *
 * A row of `out` has `pitch` bytes: the inputs, padded with zero to an even number. */
#include "include/bf16.cl"

static inline void round_row_bf16(__global ushort *to, const __global float *from, int inputs)
{
    int k = 0;
    for (; k + 16 <= inputs; k += 16) {
        store_bf16_16(vload16(0, from + k), to + k);
    }
    for (; k < inputs; k++) {
        to[k] = (ushort)(round_bf16(from[k]) >> 16);
    }
    if (inputs % 2) {
        to[inputs] = 0;
    }
}

/* Any number of groups; each processes whole rows. */
CPU_KERNEL void round_bf16_cpu(__global uchar *out, int pitch, const __global float *x, int x_offset, int x_stride,
                               int rows, int inputs)
{
    for (int row = (int)get_group_id(0); row < rows; row += (int)get_num_groups(0)) {
        round_row_bf16((__global ushort *)(out + (size_t)row * pitch), x + x_offset + (size_t)row * x_stride, inputs);
    }
}
