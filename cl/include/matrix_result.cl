/* The result of a product by matrix instructions: y = activation(scale * product + bias) + residual, in fp32 or rounded as an
 * operand of the next product. Included after matrix.cl, never built alone. */
#include "include/activate.cl"
#include "include/operand16.cl"

#define MATRIX_ARGUMENTS                                                                                               \
    __global float *y, int y_offset, int y_stride, int is_rounded, const __global uint4 *restrict x, int x_offset,     \
        int x_pitch, int rows, const __global uint4 *restrict w, int inputs, int outputs, float scale, int activation, \
        const __global float *restrict bias, const __global float *residual, int residual_offset, int residual_stride

/* y and residual: at the first row; x and w: what int8 reads beside the sums. */
struct matrix_result {
    __global float *y; /* or 16-bit operands, with is_rounded */
    const __global float *residual;
    const __global float *bias;
    const __global uint4 *x, *w;
    int y_offset, y_stride, is_rounded, residual_stride, x_pitch, rows, outputs, slices, activation;
    float scale;
};

#define MATRIX_RESULT                                                                                                  \
    {                                                                                                                  \
        .y = y, .y_offset = y_offset, .y_stride = y_stride, .is_rounded = is_rounded,                                  \
        .residual = residual ? residual + residual_offset : 0, .residual_stride = residual_stride, .bias = bias,       \
        .x = x + x_offset, .x_pitch = x_pitch, .w = w, .rows = rows, .outputs = outputs,                               \
        .slices = count_slices(inputs), .activation = activation, .scale = scale,                                      \
    }

static inline int count_slices(int inputs)
{
    return (inputs + CLF__MATRIX_INPUTS(PRECISION) - 1) / CLF__MATRIX_INPUTS(PRECISION);
}

/* Words from panel to panel of W. */
static inline size_t panel_words(int slices)
{
    return (size_t)slices * (SLICE_WORDS * PANEL) + (PRECISION == 3 ? CLF__INT8_TAIL / 16 : 0);
}

#if PRECISION == 3
/* s t (sum - zero Σ w): operand_int8.cl and product_int8.cl say what each is. */
static inline float product_of(matrix_sum sum, int row, int column, const struct matrix_result *result)
{
    const __global uint *tail = (const __global uint *)(result->w + (column / PANEL + 1) * panel_words(result->slices) -
                                                        CLF__INT8_TAIL / 16);
    const __global uint *row_end = (const __global uint *)(result->x + (size_t)(row + 1) * result->x_pitch);
    uint exact = (uint)sum - row_end[-1] * tail[PANEL + column % PANEL];
    return (float)(int)exact * (as_float(row_end[-2]) * as_float(tail[column % PANEL]));
}
#else
#define product_of(sum, row, column, result) (sum)
#endif

static inline float finish_sum(matrix_sum sum, int row, int column, const struct matrix_result *result)
{
    float shift = result->bias ? result->bias[column] : 0.0f;
    float value = activate_as(result->activation, fma(result->scale, product_of(sum, row, column, result), shift));
    return value + (result->residual ? result->residual[(size_t)row * result->residual_stride + column] : 0.0f);
}

static inline void store_sum(matrix_sum sum, int row, int column, const struct matrix_result *result)
{
    size_t place = result->y_offset + (size_t)row * result->y_stride + column;
    float value = finish_sum(sum, row, column, result);
    if (result->is_rounded) {
        store_operand16(value, (__global ushort *)result->y + place);
    } else {
        result->y[place] = value;
    }
}

/* Two sums that are neighbours in a row, where the stores may be one. */
static inline void store_pair(const matrix_sum *sums, int row, int column, const struct matrix_result *result)
{
    size_t place = result->y_offset + (size_t)row * result->y_stride + column;
    float2 value = (float2)(finish_sum(sums[0], row, column, result), finish_sum(sums[1], row, column + 1, result));
    if (result->is_rounded) {
        *(__global uint *)((__global ushort *)result->y + place) = pack_operand16(value);
    } else {
        *(__global float2 *)(result->y + place) = value;
    }
}

/* The sums of a lane of a tile whose first row and column are these. */
static inline void finish_tile(const matrix_sum *sums, int first_row, int first_column, const struct matrix_result *result)
{
    int pairs = (result->y_offset | result->y_stride) % 2 == 0;
#pragma unroll
    for (int i = 0; i < MATRIX_SUMS; i++) {
        int row = first_row + SUM_ROW(LANE, i), column = first_column + SUM_COLUMN(LANE, i);
        if (row >= result->rows) {
            continue;
        }
#ifdef SUMS_ARE_PAIRED
        if (pairs && i % 2 == 0 && column + 1 < result->outputs) {
            store_pair(sums + i, row, column, result);
            continue;
        }
        if (pairs && i % 2 == 1 && column < result->outputs) {
            continue; /* stored with the sum before */
        }
#endif
        if (column < result->outputs) {
            store_sum(sums[i], row, column, result);
        }
    }
}
