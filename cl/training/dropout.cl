/* y = residual + x * mask: all (N, C), mask 0 or kept_scale from philox.cl; y may be x or residual, and
 * residual may be null. The gradient is the same product: dx = dy * mask.
 *
 * CPU variant: a group computes whole rows, 64 columns at a time. GPU variant: a group computes a row; work-item i
 * computes columns 4i .. 4i + 3 of every QUADS columns. No macros. */
#include "include/philox.cl"

#define DROPOUT_KERNEL_ARGUMENTS                                                                                       \
    __global float *y, int y_offset, int y_stride, const __global float *x, int x_offset, int x_stride,                \
        const __global float *residual, int residual_offset, int residual_stride, int rows, int columns,               \
        DROPOUT_ARGUMENTS

/* Returns row n of the residual, or null. */
static const __global float *residual_row(const __global float *residual, int offset, int stride, int n)
{
    return residual ? residual + offset + (size_t)n * stride : 0;
}

/* Computes out[c] from in[c] and added[c], if `added` is not null, for 1 <= left <= 16 columns. */
static inline void drop16(__global float *out, const __global float *in, const __global float *added,
                          const float16 *factors, int left)
{
    float16 factor = *factors;
    if (left >= 16) {
        float16 value = vload16(0, in);
        vstore16(added ? fma16(value, factor, vload16(0, added)) : value * factor, 0, out);
    } else {
        float16 value = load_part(in, left, 0.0f);
        store_part(added ? fma16(value, factor, load_part(added, left, 0.0f)) : value * factor, out, left);
    }
}

CPU_KERNEL void dropout_forward_cpu(DROPOUT_KERNEL_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *added = residual_row(residual, residual_offset, residual_stride, n);
        for (int c = 0; c < columns; c += 64) {
            float16 factors[4] = {(float16)(kept_scale), (float16)(kept_scale), (float16)(kept_scale),
                                  (float16)(kept_scale)};
            if (threshold != 0) {
                dropout_block(factors, c / 64, n, DROPOUT_NAMES);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (c + 16 * i < columns) {
                    int at = c + 16 * i;
                    drop16(out + at, in + at, added ? added + at : 0, &factors[i], columns - at);
                }
            }
        }
    }
}

GPU_KERNEL void dropout_forward_gpu(DROPOUT_KERNEL_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *added = residual_row(residual, residual_offset, residual_stride, n);
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            float4 factor = dropout_quad(c / 4, n, DROPOUT_NAMES);
            float4 value = load_quad(in + c, columns - c, 0.0f);
            store_quad(added ? fma(value, factor, load_quad(added + c, columns - c, 0.0f)) : value * factor, out + c,
                       columns - c);
        }
    }
}
