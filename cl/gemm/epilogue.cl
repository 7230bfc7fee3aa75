/* y (M, N) = activation(product (M, N) + bias) + residual: the epilogue for CLBlast; native GEMM kernels include it.
 * product and residual may be y.
 *
 * Needs ACTIVATION, a value of enum clf__activation. */
#ifndef ACTIVATION
#error "epilogue.cl needs ACTIVATION"
#endif

/* A group computes 16 rows. */
CPU_KERNEL void epilogue_cpu(__global float *y, int y_offset, int y_stride, const __global float *product,
                             int product_offset, int product_stride, int rows, int columns,
                             const __global float *bias, const __global float *residual, int residual_offset,
                             int residual_stride)
{
    int end = min(rows, ((int)get_group_id(0) + 1) * 16);
    for (int row = (int)get_group_id(0) * 16; row < end; row++) {
        for (int c = 0; c < columns; c += 16) {
            int count = min(16, columns - c);
            const __global float *from = product + product_offset + (size_t)row * product_stride + c;
            float16 value = count == 16 ? vload16(0, from) : load_part(from, count, 0.0f);
            if (bias) {
                value += count == 16 ? vload16(0, bias + c) : load_part(bias + c, count, 0.0f);
            }
            value = activate16(value);
            if (residual) {
                from = residual + residual_offset + (size_t)row * residual_stride + c;
                value += count == 16 ? vload16(0, from) : load_part(from, count, 0.0f);
            }
            __global float *to = y + y_offset + (size_t)row * y_stride + c;
            if (count == 16) {
                vstore16(value, 0, to);
            } else {
                store_part(value, to, count);
            }
        }
    }
}

/* A group computes 256 columns of a row, four per work-item. */
GPU_KERNEL void epilogue_gpu(__global float *y, int y_offset, int y_stride, const __global float *product,
                             int product_offset, int product_stride, int rows, int columns,
                             const __global float *bias, const __global float *residual, int residual_offset,
                             int residual_stride)
{
    int row = (int)get_group_id(0);
    int c = (int)get_group_id(1) * QUADS + (int)get_local_id(0) * 4;
    if (row >= rows || c >= columns) {
        return;
    }
    int left = columns - c;
    float4 value = load_quad(product + product_offset + (size_t)row * product_stride + c, left, 0.0f);
    if (bias) {
        value += load_quad(bias + c, left, 0.0f);
    }
    value = activate4(value);
    if (residual) {
        value += load_quad(residual + residual_offset + (size_t)row * residual_stride + c, left, 0.0f);
    }
    store_quad(value, y + y_offset + (size_t)row * y_stride + c, left);
}
