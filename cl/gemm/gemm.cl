/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual
 *
 * product.cl describes the layout of W and the order of the sums. Contraction is off, so all inlined epilogues round
 * identically. residual may be y itself.
 *
 * Needs ACTIVATION, a value of enum clf__activation, and PRECISION, one of clf_precision; CPU variants use
 * RESULT_PRECISION (result.cl). */
#ifndef ACTIVATION
#error "gemm.cl needs ACTIVATION"
#endif
#pragma OPENCL FP_CONTRACT OFF

#include "include/weight_gemm.cl"

/* ---- CPU variant ---- */

/* A group computes its share of the rows of one panel. */
CPU_KERNEL void gemm_weight_cpu(__global result_element *y, int y_offset, int y_stride,
                                const __global operand_element *x, int x_offset, int x_stride, WEIGHT_ARGUMENTS)
{
    multiply_share(y, y_offset, y_stride, (const __global uchar *)(x + x_offset), x_stride * sizeof *x, WEIGHT_NAMES);
}

/* ---- GPU variant ---- */

#include "include/tile_gpu.cl"

/* The prefetch registers of a work-item, from global to local memory: x[x_row + 8i, next + x_input], and
 * four columns of input next + w_input, of both panels or of two inputs. */
struct tile_prefetch {
    float x[8];
    weight4 w[2 / INPUTS_TOGETHER];
};
#define PREFETCH_X_INPUT  ((int)get_local_id(0) % TILE_INPUTS)
#define PREFETCH_X_ROW    ((int)get_local_id(0) / TILE_INPUTS)
#define PREFETCH_W_INPUT  ((int)get_local_id(0) / (8 * INPUTS_TOGETHER) * INPUTS_TOGETHER)
#define PREFETCH_W_COLUMN ((int)get_local_id(0) % (8 * INPUTS_TOGETHER) * 4)

/* x: the item's element of input 0 in the first row of the tile, which has `rows` rows; w: the item's first
 * column; `outputs` columns remain. */
struct tile_operands {
    const __global float *x;
    const __global weight_element *w;
    int x_stride, rows, outputs, inputs;
};

/* Interior slices, which are nearly all, are loaded without bounds checks. */
static inline void fetch_slice(struct tile_prefetch *prefetched, const struct tile_operands *from, int next)
{
    const __global float *x = from->x + next;
    const __global weight_element *w = from->w + (size_t)(next / INPUTS_TOGETHER) * PANEL;
    size_t x_stride = from->x_stride, panel = (size_t)panel_depth(from->inputs) * PANEL;
    if (from->rows >= TILE && from->outputs > PANEL && next + TILE_INPUTS <= from->inputs) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            prefetched->x[i] = x[(size_t)(8 * i) * x_stride];
        }
#pragma unroll
        for (int i = 0; i < 2 / INPUTS_TOGETHER; i++) {
            prefetched->w[i] = load_weight4(w + i * panel);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int inside = PREFETCH_X_ROW + 8 * i < from->rows && next + PREFETCH_X_INPUT < from->inputs;
        prefetched->x[i] = inside ? x[(size_t)(8 * i) * x_stride] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < 2 / INPUTS_TOGETHER; i++) {
        int inside = next + PREFETCH_W_INPUT < from->inputs && (PREFETCH_W_COLUMN / PANEL + i) * PANEL < from->outputs;
        prefetched->w[i] = inside ? load_weight4(w + i * panel) : (weight4)(0);
    }
}

static inline void put_slice(__local float *x_tile, __local float *w_tile, const struct tile_prefetch *prefetched)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x_tile[PREFETCH_X_INPUT * X_PITCH + PREFETCH_X_ROW + 8 * i] = ROUND_OPERAND(prefetched->x[i]);
    }
#pragma unroll
    for (int i = 0; i < 2 / INPUTS_TOGETHER; i++) {
        store_weight4(&w_tile[PREFETCH_W_INPUT * TILE + PREFETCH_W_COLUMN + i * PANEL], TILE, prefetched->w[i]);
    }
}

static inline void activate_sums(struct tile_sums *sums, float scale, float4 shift)
{
    sums->row0 = activate4(fma((float4)(scale), sums->row0, shift));
    sums->row1 = activate4(fma((float4)(scale), sums->row1, shift));
    sums->row2 = activate4(fma((float4)(scale), sums->row2, shift));
    sums->row3 = activate4(fma((float4)(scale), sums->row3, shift));
    sums->row4 = activate4(fma((float4)(scale), sums->row4, shift));
    sums->row5 = activate4(fma((float4)(scale), sums->row5, shift));
    sums->row6 = activate4(fma((float4)(scale), sums->row6, shift));
    sums->row7 = activate4(fma((float4)(scale), sums->row7, shift));
}

/* A group computes a tile of 64 rows and 64 columns; an item computes 8 x 4 of it. */
GPU_KERNEL_OF(TILE_GROUP) void gemm_weight_tile_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                          int x_offset, int x_stride, WEIGHT_ARGUMENTS)
{
    __local float x_tile[2 * TILE_INPUTS * X_PITCH] __attribute__((aligned(16))); /* (2, 16, 64) */
    __local float w_tile[2 * TILE_INPUTS * TILE] __attribute__((aligned(16)));    /* (2, 16, 64) */
    int column = (int)get_group_id(0) * TILE, row = (int)get_group_id(1) * TILE;
    const struct tile_operands from = {
        .x = x + x_offset + (size_t)(row + PREFETCH_X_ROW) * x_stride + PREFETCH_X_INPUT,
        .w = w + (size_t)(column + PREFETCH_W_COLUMN / PANEL * PANEL) * panel_depth(inputs) +
             PREFETCH_W_INPUT / INPUTS_TOGETHER * PANEL + PREFETCH_W_COLUMN % PANEL,
        .x_stride = x_stride,
        .rows = rows - row,
        .outputs = outputs - column,
        .inputs = inputs,
    };
    struct tile_prefetch prefetched;
    struct tile_sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    sum_slices(&sums, &prefetched, &from, x_tile, X_PITCH, w_tile, inputs);
    int first = column + THREAD_COLUMN * 4;
    activate_sums(&sums, scale, load_shifts(bias, first, outputs));
#pragma unroll 1
    for (int i = 0; i < 8; i++, pass_rows(&sums)) {
        store_four(sums.row0, y, y_offset, y_stride, row + ROW_INDEX(i), first, WEIGHT_NAMES);
    }
}

#include "include/skinny_gpu.cl"

/* For few rows, where reading W dominates the time, or if there are fewer tiles than cores: a group computes a tile of
 * skinny_gpu.cl. */
GPU_KERNEL_OF(TILE_GROUP) void gemm_weight_skinny_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                            int x_offset, int x_stride, WEIGHT_ARGUMENTS)
{
    __local float x_tile[SKINNY_DEPTH * SKINNY_ROWS] __attribute__((aligned(16))); /* (128, 16) */
    __local float w_tile[SKINNY_DEPTH * PANEL] __attribute__((aligned(16)));       /* (128, 32) */
    multiply_skinny_tile(x_tile, w_tile, (int)get_group_id(0) * PANEL, (int)get_group_id(1) * SKINNY_ROWS, 1, y, y_offset,
                         y_stride, x, x_offset, x_stride, WEIGHT_NAMES);
}
