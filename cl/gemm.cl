/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual
 *
 * How W lies and in which order is summed says product.cl. Contraction is off because the epilogue must round alike
 * wherever it is inlined. residual may be y itself.
 *
 * Needs ACTIVATION, a value of enum clf__activation, and PRECISION, one of clf_precision; CPU forms take RESULT_BF16
 * (finish.cl). */
#ifndef ACTIVATION
#error "gemm.cl needs ACTIVATION"
#endif
#pragma OPENCL FP_CONTRACT OFF

#include "product.cl"
#include "finish.cl"

/* ---- CPU form ---- */

/* A group: rows_per_group rows (the last group fewer) of one panel, in blocks of 8 rows. The panel stays in the cache
 * while the rows pass. */
CPU_KERNEL void gemm_weight_cpu(__global result_element *y, int y_offset, int y_stride,
                                const __global operand_element *x, int x_offset, int x_stride, int rows,
                                const __global weight_element *w, int inputs, int outputs, float scale,
                                const __global float *bias, const __global float *residual, int residual_offset,
                                int residual_stride, int rows_per_group)
{
    int column = (int)get_group_id(0) * PANEL;
    int first = (int)get_group_id(1) * rows_per_group;
    int end = min(rows, first + rows_per_group);
    int depth = panel_depth(inputs);
    const __global weight_element *panel = w + (size_t)column * depth;
    float16 tile[16];
    for (int row = first; row < end; row += 8) {
        int count = min(8, end - row);
        __global result_element *y_tile = y + y_offset + (size_t)row * y_stride + column;
        const __global float *residual_tile =
            residual ? residual + residual_offset + (size_t)row * residual_stride + column : 0;
        fetch_tile(count, y_tile, y_stride, residual_tile, residual_stride, outputs - column);
        block(tile, x + x_offset + (size_t)row * x_stride, x_stride, count, panel, depth);
        finish_tile(tile, count, y_tile, y_stride, bias ? bias + column : 0, residual_tile, residual_stride, scale,
                    outputs - column, 1);
    }
}

/* ---- GPU form ---- */

static inline float8 activate8(float8 v)
{
    return (float8)(activate4(v.lo), activate4(v.hi));
}

#define TILE 64                 /* rows and columns of a group's tile: two panels wide */
#define TILE_DEPTH 8            /* inputs that lie in local memory at a time */
#define X_PITCH (TILE + 4)      /* padded, so that the transposing stores meet fewer bank conflicts */

/* The 8 rows (or columns) of an item: 4 neighbours in each half of the tile, so that neighbouring items read
 * neighbouring float4. */
#define SPOT(lane, i) ((i) / 4 * 32 + (lane)*4 + (i) % 4)

/* The accumulators, one float8 a row: named, because an array of them ends in memory with some compilers. */
#define TILE_STEP(k)                                                                                                   \
    {                                                                                                                  \
        float4 above = *(const __local float4 *)&x_tile[(k)*X_PITCH + across * 4];                                     \
        float4 below = *(const __local float4 *)&x_tile[(k)*X_PITCH + 32 + across * 4];                                \
        float4 p = *(const __local float4 *)&w_tile[(k)*TILE + along * 4];                                             \
        float4 q = *(const __local float4 *)&w_tile[(k)*TILE + 32 + along * 4];                                        \
        float8 b = (float8)(p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w);                                                   \
        acc0 = fma((float8)(above.x), b, acc0);                                                                        \
        acc1 = fma((float8)(above.y), b, acc1);                                                                        \
        acc2 = fma((float8)(above.z), b, acc2);                                                                        \
        acc3 = fma((float8)(above.w), b, acc3);                                                                        \
        acc4 = fma((float8)(below.x), b, acc4);                                                                        \
        acc5 = fma((float8)(below.y), b, acc5);                                                                        \
        acc6 = fma((float8)(below.z), b, acc6);                                                                        \
        acc7 = fma((float8)(below.w), b, acc7);                                                                        \
    }

/* A group: a tile of 64 rows and 64 columns, 8 x 8 of it an item. The next slice of the operands travels from global
 * memory to registers while the present one is multiplied. */
GPU_KERNEL void gemm_weight_tile_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                     int x_offset, int x_stride, int rows, const __global weight_element *w, int inputs,
                                     int outputs, float scale, const __global float *bias,
                                     const __global float *residual, int residual_offset, int residual_stride)
{
    __local float x_tile[TILE_DEPTH * X_PITCH] __attribute__((aligned(16))); /* (8, 64) */
    __local float w_tile[TILE_DEPTH * TILE] __attribute__((aligned(16)));    /* (8, 64) */
    int item = (int)get_local_id(0);
    int along = item % 8, across = item / 8;
    int column = (int)get_group_id(0) * TILE;
    int row = (int)get_group_id(1) * TILE;

    /* What the item carries: x[row + item / 8 + 8i, k + item % 8], and four columns of input k + w_input, of both
     * panels or of two inputs. */
    int x_row = row + item / 8, x_input = item % 8;
    const __global float *x_from = x + x_offset + (size_t)x_row * x_stride + x_input;
    int depth = panel_depth(inputs);
    int w_input = item / (8 * INPUTS_TOGETHER) * INPUTS_TOGETHER, w_column = item % (8 * INPUTS_TOGETHER) * 4;
    int w_panel = column + w_column / PANEL * PANEL;
    const __global weight_element *w_from =
        w + (size_t)w_panel * depth + w_input / INPUTS_TOGETHER * PANEL + w_column % PANEL;
    float x_next[8];
    weight4 w_next[2 / INPUTS_TOGETHER];

    float8 acc0 = 0.0f, acc1 = 0.0f, acc2 = 0.0f, acc3 = 0.0f, acc4 = 0.0f, acc5 = 0.0f, acc6 = 0.0f, acc7 = 0.0f;
    for (int k = -TILE_DEPTH; k < inputs; k += TILE_DEPTH) {
        int next = k + TILE_DEPTH;
        int has_next = next < inputs;
        if (has_next) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int inside = x_row + 8 * i < rows && next + x_input < inputs;
                x_next[i] = inside ? x_from[(size_t)(8 * i) * x_stride + next] : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < 2 / INPUTS_TOGETHER; i++) {
                int inside = next + w_input < inputs && w_panel + i * PANEL < outputs;
                const __global weight_element *from = w_from + (size_t)(next / INPUTS_TOGETHER + i * depth) * PANEL;
                w_next[i] = inside ? load_weight4(from) : (weight4)(0);
            }
        }
        if (k >= 0) {
            /* not unrolled: a step is 64 fma, and hoisted loads cost more registers than there are */
            int steps = min(TILE_DEPTH, inputs - k);
#pragma unroll 1
            for (int step = 0; step < steps; step++) {
                TILE_STEP(step)
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (has_next) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x_tile[x_input * X_PITCH + item / 8 + 8 * i] = ROUND_OPERAND(x_next[i]);
            }
#pragma unroll
            for (int i = 0; i < 2 / INPUTS_TOGETHER; i++) {
                store_weight4(&w_tile[w_input * TILE + w_column + i * PANEL], TILE, w_next[i]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#define SHIFT(j) (bias && column + SPOT(along, j) < outputs ? bias[column + SPOT(along, j)] : 0.0f)
    float8 shift = (float8)(SHIFT(0), SHIFT(1), SHIFT(2), SHIFT(3), SHIFT(4), SHIFT(5), SHIFT(6), SHIFT(7));
    acc0 = activate8(fma((float8)(scale), acc0, shift));
    acc1 = activate8(fma((float8)(scale), acc1, shift));
    acc2 = activate8(fma((float8)(scale), acc2, shift));
    acc3 = activate8(fma((float8)(scale), acc3, shift));
    acc4 = activate8(fma((float8)(scale), acc4, shift));
    acc5 = activate8(fma((float8)(scale), acc5, shift));
    acc6 = activate8(fma((float8)(scale), acc6, shift));
    acc7 = activate8(fma((float8)(scale), acc7, shift));
    /* The rows come to acc0 in turn. */
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        int r = row + SPOT(across, i);
        float values[8];
        vstore8(acc0, 0, values);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int c = column + SPOT(along, j);
            if (r < rows && c < outputs) {
                values[j] += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
                y[y_offset + (size_t)r * y_stride + c] = values[j];
            }
        }
        acc0 = acc1;
        acc1 = acc2;
        acc2 = acc3;
        acc3 = acc4;
        acc4 = acc5;
        acc5 = acc6;
        acc6 = acc7;
    }
}

#define SKINNY_ROWS 8
#define SKINNY_DEPTH 64

/* acc (4) += x[4 rows, k] * w[column, k] */
#define SKINNY_STEP(k)                                                                                                 \
    acc = fma(*(const __local float4 *)&x_tile[(k)*SKINNY_ROWS + half_group * 4], (float4)(w_tile[(k)*PANEL + lane]), acc);

/* For few rows, where reading W is all the work. A group: 8 rows of one panel, 4 rows of one column an item; all items
 * fetch the panel together, 8 (bf16: 4) vectors each under way while the slice before is multiplied. */
GPU_KERNEL void gemm_weight_skinny_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                       int x_offset, int x_stride, int rows, const __global weight_element *w, int inputs,
                                       int outputs, float scale, const __global float *bias,
                                       const __global float *residual, int residual_offset, int residual_stride)
{
    __local float x_tile[SKINNY_DEPTH * SKINNY_ROWS] __attribute__((aligned(16))); /* (64, 8) */
    __local float w_tile[SKINNY_DEPTH * PANEL] __attribute__((aligned(16)));       /* (64, 32) */
    int item = (int)get_local_id(0);
    int lane = item % PANEL, half_group = item / PANEL;
    int column = (int)get_group_id(0) * PANEL;
    int row = (int)get_group_id(1) * SKINNY_ROWS;
    const __global float *x_from = x + x_offset + (size_t)row * x_stride + item;
    const __global weight_element *w_from = w + (size_t)column * panel_depth(inputs) + item * 4;
    float x_next[8];
    weight4 w_next[8 / INPUTS_TOGETHER];

    float4 acc = 0.0f;
    for (int k = -SKINNY_DEPTH; k < inputs; k += SKINNY_DEPTH) {
        int next = k + SKINNY_DEPTH;
        int has_next = next < inputs;
        if (has_next) {
#pragma unroll
            for (int i = 0; i < 8 / INPUTS_TOGETHER; i++) {
                /* 8 items an input, so the group brings 8 inputs or pairs at a time */
                int inside = next + (i * 8 + item / 8) * INPUTS_TOGETHER < inputs;
                const __global weight_element *from = w_from + (size_t)(next / INPUTS_TOGETHER + i * 8) * PANEL;
                w_next[i] = inside ? load_weight4(from) : (weight4)(0);
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int inside = row + i < rows && next + item < inputs;
                x_next[i] = inside ? x_from[(size_t)i * x_stride + next] : 0.0f;
            }
        }
        if (k >= 0) {
            if (next <= inputs) {
#pragma unroll 8
                for (int step = 0; step < SKINNY_DEPTH; step++) {
                    SKINNY_STEP(step)
                }
            } else {
                for (int step = 0; step < inputs - k; step++) {
                    SKINNY_STEP(step)
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (has_next) {
#pragma unroll
            for (int i = 0; i < 8 / INPUTS_TOGETHER; i++) {
                store_weight4(&w_tile[(i * 8 + item / 8) * INPUTS_TOGETHER * PANEL + item % 8 * 4], PANEL, w_next[i]);
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x_tile[item * SKINNY_ROWS + i] = ROUND_OPERAND(x_next[i]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float products[4];
    vstore4(acc, 0, products);
    int c = column + lane;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int r = row + half_group * 4 + i;
        if (r < rows && c < outputs) {
            float value = activate(fma(scale, products[i], bias ? bias[c] : 0.0f));
            value += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
            y[y_offset + (size_t)r * y_stride + c] = value;
        }
    }
}
