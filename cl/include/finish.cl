/* The GEMM epilogue, before the results are stored: y = activation(scale * product + bias) + residual. Include
 * file, not a program.
 *
 * Needs ACTIVATION, a value of enum clf__activation. y may be rounded for the next GEMM (result.cl). */
#include "include/fetch.cl"
#include "include/result.cl"

/* Finishes one vector of the result: count <= 16 columns of a row. Without `activates` the activation is the
 * identity. */
static inline void finish16(const float16 *product, __global result_element *y, const __global float *bias,
                            const __global float *residual, float scale, int count, int activates)
{
    float16 shift = 0.0f;
    if (bias) {
        shift = count == 16 ? vload16(0, bias) : load_part(bias, count, 0.0f);
    }
    float16 value = fma16((float16)scale, *product, shift);
    if (activates) {
        value = activate16(value);
    }
    if (residual) {
        value += count == 16 ? vload16(0, residual) : load_part(residual, count, 0.0f);
    }
    store_result16(value, y, count);
}

/* Prefetches the memory that finish_tile() will access, during the multiplications: short strided parts of
 * rows, which the hardware does not prefetch. */
static inline void fetch_tile(int rows, const __global result_element *y, size_t y_stride, const __global float *residual,
                              size_t residual_stride, int columns)
{
    for (int v = 0; v < 2 * rows; v++) {
        int c = v % 2 * 16;
        if (c < columns) {
            FETCH_TO_WRITE(y + v / 2 * y_stride + c);
            if (residual) {
                FETCH_TO_READ(residual + v / 2 * residual_stride + c);
            }
        }
    }
}

/* Like finish_tile(), if all 32 columns exist: no check per vector. */
static inline void finish_whole_tile(const float16 *tile, int rows, __global result_element *y, size_t y_stride,
                                     const __global float *bias, const __global float *residual,
                                     size_t residual_stride, float scale, int activates)
{
    float16 left_shift = bias ? vload16(0, bias) : (float16)(0.0f);
    float16 right_shift = bias ? vload16(1, bias) : (float16)(0.0f);
    for (int row = 0; row < rows; row++) {
        float16 left = fma16((float16)scale, tile[2 * row], left_shift);
        float16 right = fma16((float16)scale, tile[2 * row + 1], right_shift);
        if (activates) {
            left = activate16(left);
            right = activate16(right);
        }
        if (residual) {
            left += vload16(0, residual + row * residual_stride);
            right += vload16(1, residual + row * residual_stride);
        }
        store_result16(left, y + row * y_stride, 16);
        store_result16(right, y + row * y_stride + 16, 16);
    }
}

/* Finishes a tile (rows, 32) of products, of which `columns` columns are inside the result. */
static inline void finish_tile(const float16 *tile, int rows, __global result_element *y, size_t y_stride,
                               const __global float *bias, const __global float *residual, size_t residual_stride,
                               float scale, int columns, int activates)
{
    if (columns >= 32) {
        finish_whole_tile(tile, rows, y, y_stride, bias, residual, residual_stride, scale, activates);
        return;
    }
    for (int v = 0; v < 2 * rows; v++) {
        int c = v % 2 * 16, width = min(16, columns - c);
        if (width > 0) {
            finish16(&tile[v], y + v / 2 * y_stride + c, bias ? bias + c : 0,
                     residual ? residual + v / 2 * residual_stride + c : 0, scale, width, activates);
        }
    }
}
