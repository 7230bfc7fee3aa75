/* The epilogue of a product with matrix instructions: y = activation(scale * product + bias) + residual, in fp32
 * or rounded as an operand of the next product. Include after matrix.cl. Needs B_TILES, the number of adjacent
 * tiles that are stored together. */
#include "include/activate.cl"
#include "include/operand16.cl"

#define MATRIX_ARGUMENTS                                                                                               \
    __global float *y, int y_offset, int y_stride, int is_rounded, const __global uint4 *restrict x, int x_offset,     \
        int x_pitch, int rows, const __global uint4 *restrict w, int inputs, int outputs, float scale, int activation, \
        const __global float *restrict bias, const __global float *residual, int residual_offset, int residual_stride
#define MATRIX_NAMES                                                                                                   \
    y, y_offset, y_stride, is_rounded, x, x_offset, x_pitch, rows, w, inputs, outputs, scale, activation, bias,        \
        residual, residual_offset, residual_stride

/* Parameters of the epilogue. Products in int8 also read the scales in x and w. */
struct matrix_result {
    __global float *y; /* 16-bit operands if is_rounded */
    const __global float *residual;
    const __global float *bias;
    const __global uint4 *x, *w;
    int y_offset, y_stride, is_rounded, residual_stride, x_pitch, rows, outputs, slices, activation;
    float scale;
};

static inline int count_slices(int inputs)
{
    return (inputs + CLF__MATRIX_INPUTS(PRECISION) - 1) / CLF__MATRIX_INPUTS(PRECISION);
}

static inline struct matrix_result result_of(MATRIX_ARGUMENTS)
{
    return (struct matrix_result){
        .y = y,
        .residual = residual ? residual + residual_offset : 0,
        .bias = bias,
        .x = x + x_offset,
        .w = w,
        .y_offset = y_offset,
        .y_stride = y_stride,
        .is_rounded = is_rounded,
        .residual_stride = residual_stride,
        .x_pitch = x_pitch,
        .rows = rows,
        .outputs = outputs,
        .slices = count_slices(inputs),
        .activation = activation,
        .scale = scale,
    };
}

/* Returns the number of words in a panel of W. */
static inline size_t panel_words(int slices)
{
    return (size_t)slices * (SLICE_WORDS * PANEL) + (PRECISION == 3 ? CLF__INT8_TAIL / 16 : 0);
}

#if PRECISION == 3
/* Returns s t (sum - zero Σ w); operand_int8.cl and product_int8.cl define the terms. */
static inline float product_of(matrix_sum sum, int row, int column, const struct matrix_result *result)
{
    const __global uint *tail = (const __global uint *)(result->w + (column / PANEL + 1) * panel_words(result->slices) -
                                                        CLF__INT8_TAIL / 16);
    const FRESH __global uint *row_end = (const FRESH __global uint *)(result->x + (size_t)(row + 1) * result->x_pitch);
    uint exact = (uint)sum - row_end[-1] * tail[PANEL + column % PANEL];
    return (float)(int)exact * (as_float(row_end[-2]) * as_float(tail[column % PANEL]));
}
#else
#define product_of(sum, row, column, result) (sum)
#endif

/* Runs the statement for sum i of tile j, at (row, column) of y, if y has that element. The first tile begins at (first_row,
 * first_column). */
#define FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result, statement)                                 \
    _Pragma("unroll") for (int j = 0; j < B_TILES; j++)                                                                \
    {                                                                                                                  \
        _Pragma("unroll") for (int i = 0; i < MATRIX_SUMS; i++)                                                        \
        {                                                                                                              \
            int row = (first_row) + SUM_ROW(LANE, i);                                                                  \
            int column = (first_column) + j * MATRIX_COLUMNS + SUM_COLUMN(LANE, i);                                    \
            if (row < result->rows && column < result->outputs) {                                                      \
                statement;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }

#define ACTIVATE_SUMS(ACTIVATE, values)                                                                                \
    _Pragma("unroll") for (int j = 0; j < B_TILES; j++)                                                                \
    {                                                                                                                  \
        _Pragma("unroll") for (int i = 0; i < MATRIX_SUMS; i++)                                                        \
        {                                                                                                              \
            float v = values[j][i];                                                                                    \
            ACTIVATE(float, v)                                                                                         \
            values[j][i] = v;                                                                                          \
        }                                                                                                              \
    }

static inline void activate_sums(float (*values)[MATRIX_SUMS], int kind)
{
    switch (kind) {
    case 1: ACTIVATE_SUMS(ACTIVATE_RELU, values) break;
    case 2: ACTIVATE_SUMS(ACTIVATE_GELU, values) break;
    case 3: ACTIVATE_SUMS(ACTIVATE_GELU_TANH, values) break;
    case 4: ACTIVATE_SUMS(ACTIVATE_SILU, values) break;
    }
}

/* Returns the offset of an element of y (or, with its stride, of the residual). Y_IN_PANELS: y is stored like the
 * fp32 weights of product.cl, with the rows here as inputs and the columns as outputs; the stride is the distance
 * between panels. */
static inline size_t place_of(int row, int column, int stride)
{
#ifdef Y_IN_PANELS
    return (size_t)(column / PANEL) * stride + (size_t)row * PANEL + column % PANEL;
#else
    return (size_t)row * stride + column;
#endif
}

static inline size_t place_in_y(const struct matrix_result *result, int row, int column)
{
    return result->y_offset + place_of(row, column, result->y_stride);
}

static inline void store_values(float (*values)[MATRIX_SUMS], int first_row, int first_column,
                                const struct matrix_result *result)
{
    __global ushort *rounded = (__global ushort *)result->y;
#ifdef SUMS_ARE_PAIRED
    if ((result->y_offset | result->y_stride | result->outputs) % 2 == 0) {
        if (result->is_rounded) {
            FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result, if (i % 2 == 0) {
                *(__global uint *)(rounded + place_in_y(result, row, column)) =
                    pack_operand16((float2)(values[j][i], values[j][i + 1]));
            })
        } else {
            FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result, if (i % 2 == 0) {
                *(__global float2 *)(result->y + place_in_y(result, row, column)) = (float2)(values[j][i], values[j][i + 1]);
            })
        }
        return;
    }
#endif
    if (result->is_rounded) {
        FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result,
                        store_operand16(values[j][i], rounded + place_in_y(result, row, column)))
    } else {
        FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result,
                        result->y[place_in_y(result, row, column)] = values[j][i])
    }
}

/* Stores a lane's sums of B_TILES adjacent tiles, which begin at this row and column. All loads precede the first store. */
static inline void finish_tiles(const matrix_sum (*sums)[MATRIX_SUMS], int first_row, int first_column,
                                const struct matrix_result *result)
{
    float values[B_TILES][MATRIX_SUMS];
    FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result,
                    values[j][i] = fma(result->scale, product_of(sums[j][i], row, column, result),
                                       result->bias ? result->bias[column] : 0.0f))
    activate_sums(values, result->activation);
    if (result->residual) {
        FOR_SUMS_WITHIN(j, i, row, column, first_row, first_column, result,
                        values[j][i] += result->residual[place_of(row, column, result->residual_stride)])
    }
    store_values(values, first_row, first_column, result);
}
