/* The common part of gemm.cl and gemm_int8.cl; included by both, not a program. */
#include "include/panel_rows.cl"
#include "include/groups.cl"

/* The arguments that the kernels of gemm.cl and gemm_int8.cl share. */
#define WEIGHT_ARGUMENTS                                                                                               \
    int rows, const __global weight_element *w, int inputs, int outputs, float scale, const __global float *bias,      \
        const __global float *residual, int residual_offset, int residual_stride
#define WEIGHT_NAMES rows, w, inputs, outputs, scale, bias, residual, residual_offset, residual_stride

/* Multiplies this group's share of the rows of x, `pitch` bytes apart, by its panel of w (CPU variant). */
static inline void multiply_share(__global result_element *y, int y_offset, int y_stride, const __global uchar *x,
                                  size_t pitch, WEIGHT_ARGUMENTS)
{
    int column = (int)get_group_id(0) * PANEL;
    int group = (int)get_group_id(1), groups = (int)get_num_groups(1);
    int first = first_row(rows, group, groups), end = min(rows, first_row(rows, group + 1, groups));
    const struct panel_result result = {
        .y = y + y_offset + (size_t)first * y_stride + column,
        .y_stride = y_stride,
        .residual = residual ? residual + residual_offset + (size_t)first * residual_stride + column : 0,
        .residual_stride = residual_stride,
        .bias = bias ? bias + column : 0,
        .scale = scale,
        .columns = outputs - column,
        .activates = 1,
    };
    multiply_panel(&result, x + first * pitch, pitch, end - first, w + get_group_id(0) * PANEL_ELEMENTS(inputs), inputs);
}

/* Loads the bias of the four columns starting at `first`, zeros beyond `outputs` (GPU variant); bias may be null. */
static inline float4 load_shifts(const __global float *bias, int first, int outputs)
{
    return (float4)(bias && first < outputs ? bias[first] : 0.0f, bias && first + 1 < outputs ? bias[first + 1] : 0.0f,
                    bias && first + 2 < outputs ? bias[first + 2] : 0.0f,
                    bias && first + 3 < outputs ? bias[first + 3] : 0.0f);
}

/* Stores four columns of a row starting at `first`, plus the residual; skips columns beyond y (GPU variant). */
static inline void store_four(float4 four, __global float *y, int y_offset, int y_stride, int row, int first, WEIGHT_ARGUMENTS)
{
    float values[4];
    vstore4(four, 0, values);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int column = first + j;
        if (row < rows && column < outputs) {
            values[j] += residual ? residual[residual_offset + (size_t)row * residual_stride + column] : 0.0f;
            y[y_offset + (size_t)row * y_stride + column] = values[j];
        }
    }
}
