/* dW (N, K) += scale * dyᵀ x, with x (M, K) and dy (M, N). dW is stored in panels (product.cl); each panel is a
 * separate product xᵀ dy, (K, M) by (M, 32).
 *
 * Every element is one chain acc = fma(x[m, k], scale * dy[m, n], acc) over m = 0 .. M-1, starting with the old
 * value: its bits do not depend on the number of rows per call. In bf16 (CPU variant) x and scale * dy are rounded,
 * and rows are paired like inputs in product_bf16.cl. Lanes of the last panel beyond N stay zero.
 *
 * Needs PRECISION, 0 (fp32) or 2 (bf16), of the multiplications. */
#ifndef PRECISION
#error "gemm_weight_gradient.cl needs PRECISION"
#endif
#pragma OPENCL FP_CONTRACT OFF

#include "include/product.cl"
#include "include/fetch.cl"

#define ROWS_TOGETHER INPUTS_TOGETHER

/* ---- CPU variant, in bf16 if the level has bf16 dot products ---- */

#if PRECISION == 0 || defined(HAS_DOT_BF16)
#define BLOCK BLOCK_ROWS   /* inputs of a register block */
#define DEPTH 128          /* rows, or pairs, per slice: 16 KB of dy and 4 KB of x stay in the first-level
                            * cache */
#define SLICE (DEPTH * BLOCK + 16) /* elements between blocks of x: an odd number of cache lines */

#if PRECISION == 0
typedef float16 operand16;
#else
typedef uint16 operand16;
#endif

/* The part of 16 inputs that belongs to the second block. */
#if BLOCK_ROWS == 8
#define SECOND_BLOCK(v) (v).hi
#elif BLOCK_ROWS == 6
#define SECOND_BLOCK(v) (v).s6789abcd
#endif

/* Loads 16 columns, of which `count` exist, of a row; in bf16 also of the next row, if there is one. */
#if PRECISION == 0
#define load_rows16(x, stride, rows, count, scale) (wide_load_rows(x, stride, rows, count, scale).v)
static inline struct wide wide_load_rows(const __global float *x, int stride, int rows, int count, float scale)
{
    return WIDE(scale * (count >= 16 ? vload16(0, x) : load_part(x, count, 0.0f)));
}
#else
#define load_rows16(x, stride, rows, count, scale) as_uint16(wide_load_rows(x, stride, rows, count, scale).v)
static inline struct wide wide_load_rows(const __global float *x, int stride, int rows, int count, float scale)
{
    float16 low = count >= 16 ? vload16(0, x) : load_part(x, count, 0.0f);
    float16 high = 0.0f;
    if (rows > 1) {
        high = count >= 16 ? vload16(0, x + stride) : load_part(x + stride, count, 0.0f);
    }
    return WIDE(as_float16(round_bf16_16(scale * low) >> 16 | round_bf16_16(scale * high)));
}
#endif

/* out: `rows` rows of x in slices of DEPTH rows or pairs, and blocks of inputs, in the order of the reads below:
 * element (m, k) at ((m / DEPTH) * blocks + k / BLOCK) * SLICE + m % DEPTH * BLOCK + k % BLOCK, zero beyond K.
 * Eight inputs of a row are written at a time, even if a block has six: the next row then overwrites the last two.
 * Launched with one group per slice and blocks_per_group blocks. */
CPU_KERNEL void pack_rows_cpu(__global operand_element *out, const __global float *x, int x_offset, int x_stride,
                              int first_row, int rows, int inputs, int blocks_per_group)
{
    int blocks = (inputs + BLOCK - 1) / BLOCK;
    int first = (int)get_group_id(1) * blocks_per_group * BLOCK;
    int end = min(inputs, first + blocks_per_group * BLOCK);
    int row = (int)get_group_id(0) * DEPTH * ROWS_TOGETHER;
    int steps = (min(rows - row, DEPTH * ROWS_TOGETHER) + ROWS_TOGETHER - 1) / ROWS_TOGETHER;
    x += x_offset + (size_t)(first_row + row) * x_stride;
    out += (size_t)get_group_id(0) * blocks * SLICE;
    for (int from = 0; from < steps; from += 8) { /* process eight rows in parallel; the hardware prefetches them */
        int to = min(steps, from + 8);
        for (int k = first; k < end; k += 2 * BLOCK) {
            __global operand_element *block = out + (size_t)(k / BLOCK) * SLICE;
            for (int m = from; m < to; m++) {
                int at = m * ROWS_TOGETHER;
                operand16 value =
                    load_rows16(x + (size_t)at * x_stride + k, x_stride, rows - row - at, inputs - k, 1.0f);
                vstore8(value.lo, 0, block + m * BLOCK);
                if (k + BLOCK < inputs) {
                    vstore8(SECOND_BLOCK(value), 0, block + SLICE + m * BLOCK);
                }
                FETCH_TO_WRITE(block + (2 + m % 2) * SLICE + (from + m % 8 / 2 * 2) * BLOCK); /* prefetch the next blocks */
            }
        }
    }
}

/* dw (count, 32) += count <= BLOCK inputs of x times dy (steps, 32), of which `columns` columns exist. The first
 * block of columns prefetches the next block of inputs. */
static inline void add_block(__global float *dw, const __global operand_element *x, const weight_element *dy, int steps,
                             int count, int columns)
{
    enum { COUNT = BLOCK_VECTORS(BLOCK) };
    FOR_COLUMNS(c, COUNT)
    {
        floatv sums[BLOCK][COUNT];
        FOR_SUMS(r, BLOCK, v, COUNT,
                 sums[r][v] = r < count ? vloadv(0, dw + r * PANEL + COLUMN(c, v)) : (floatv)(0.0f))
        for (int first = 0; first < steps; first += 8) {
            for (int line = 0; c == 0 && line < BLOCK / 2; line++) { /* for the next block: the same rows, and one
                                                                      * line of sums */
                FETCH_TO_READ(x + SLICE + first * BLOCK + line * 16);
                FETCH_TO_WRITE(dw + BLOCK * PANEL + min(first / 8, 2 * BLOCK - 1) * 16);
            }
            for (int m = first; m < min(steps, first + 8); m++) {
                ADD_INPUT(r, BLOCK, v, COUNT, sums, MULTIPLY, weightv, vloadv(0, dy + m * PANEL + COLUMN(c, v)),
                          operandv, x[m * BLOCK + r])
            }
        }
        FOR_SUMS(r, BLOCK, v, COUNT, if (r < count) vstorev(sums[r][v], 0, dw + r * PANEL + COLUMN(c, v)))
    }
    for (int c = columns; c < PANEL; c++) { /* infinity times zero is NaN */
        for (int r = 0; r < min(count, BLOCK); r++) {
            dw[r * PANEL + c] = 0.0f;
        }
    }
}

/* Prefetches a panel's columns of rows first .. end - 1 of dy. */
static inline void fetch_rows(const __global float *dy, int dy_stride, int first, int end)
{
    for (int row = first; row < end; row++) {
        FETCH_SOON(dy + (size_t)row * dy_stride);
        FETCH_SOON(dy + (size_t)row * dy_stride + 16);
    }
}

/* Adds the gradient of `rows` rows to dW. A group computes blocks_per_group blocks of one panel (the last group
 * computes fewer). x comes from pack_rows_cpu. */
CPU_KERNEL void weight_gradient_cpu(__global float *dw, const __global float *dy, int dy_offset, int dy_stride,
                                    const __global operand_element *x, int first_row, int rows, int inputs,
                                    int outputs, float scale, int blocks_per_group)
{
    int column = (int)get_group_id(0) * PANEL, columns = min(PANEL, outputs - column);
    int first = (int)get_group_id(1) * blocks_per_group * BLOCK;
    int end = min(inputs, first + blocks_per_group * BLOCK);
    dw += (size_t)column * inputs;
    dy += dy_offset + (size_t)first_row * dy_stride + column;
    weight_element panel[DEPTH * PANEL];
    int rows_a_block = (DEPTH * ROWS_TOGETHER * BLOCK - 1) / (end - first) + 1;
    for (int row = 0; row < rows; row += DEPTH * ROWS_TOGETHER) {
        int depth = min(rows - row, DEPTH * ROWS_TOGETHER), steps = (depth + ROWS_TOGETHER - 1) / ROWS_TOGETHER;
        /* Prefetch some rows with each block: the following rows, or the first rows of the next panel. */
        int next = row + DEPTH * ROWS_TOGETHER < rows ? row + DEPTH * ROWS_TOGETHER : 0;
        const __global float *dy_next = dy + (size_t)next * dy_stride + (next ? 0 : PANEL);
        int fetched = 0, next_rows = min(rows - next, DEPTH * ROWS_TOGETHER);
        for (int m = 0; m < steps; m++) {
            int at = row + m * ROWS_TOGETHER;
            const __global float *from = dy + (size_t)at * dy_stride;
            vstore16(load_rows16(from, dy_stride, rows - at, columns, scale), 2 * m, panel);
            vstore16(columns > 16 ? load_rows16(from + 16, dy_stride, rows - at, columns - 16, scale) : (operand16)(0),
                     2 * m + 1, panel);
        }
        for (int k = first; k < end; k += BLOCK) {
            fetch_rows(dy_next, dy_stride, fetched, min(fetched + rows_a_block, next_rows));
            fetched += rows_a_block;
            add_block(dw + (size_t)k * PANEL, x + (size_t)(k / BLOCK) * SLICE, panel, steps, inputs - k, columns);
        }
        x += (size_t)((inputs + BLOCK - 1) / BLOCK) * SLICE;
    }
}

#endif

/* ---- GPU variant ---- */

#include "include/tile_gpu.cl"

#if PRECISION == 0
#define ROUND_QUAD(v) (v)
#else
#define ROUND_QUAD(v) (float4)(ROUND_OPERAND((v).x), ROUND_OPERAND((v).y), ROUND_OPERAND((v).z), ROUND_OPERAND((v).w))
#endif

/* The prefetch registers of an item: four columns of its rows item / 16 and item / 16 + 8 in x and dy. */
struct tile_prefetch {
    float4 x[2], dy[2];
};
#define PREFETCH_ROW    ((int)get_local_id(0) / 16)
#define PREFETCH_COLUMN ((int)get_local_id(0) % 16 * 4)

/* x and dy: the item's elements in the first slice; x_left and dy_left columns remain from there. */
struct tile_operands {
    const __global float *x, *dy;
    int x_stride, x_left, dy_stride, dy_left, rows;
    float scale;
};

static inline void fetch_slice(struct tile_prefetch *prefetched, const struct tile_operands *from, int next)
{
    const __global float *x = from->x, *dy = from->dy;
    size_t x_stride = from->x_stride, dy_stride = from->dy_stride;
    int x_left = from->x_left, dy_left = from->dy_left, rows = from->rows;
    float scale = from->scale;
    if (x_left >= 4 && dy_left >= 4 && next + TILE_INPUTS <= rows) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            prefetched->x[i] = load_quad(x + (size_t)(next + 8 * i) * x_stride, 4, 0.0f);
            prefetched->dy[i] = scale * load_quad(dy + (size_t)(next + 8 * i) * dy_stride, 4, 0.0f);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = next + 8 * i, is_inside = PREFETCH_ROW + row < rows;
        prefetched->x[i] = is_inside && x_left > 0 ? load_quad(x + (size_t)row * x_stride, x_left, 0.0f) : (float4)(0.0f);
        prefetched->dy[i] =
            is_inside && dy_left > 0 ? scale * load_quad(dy + (size_t)row * dy_stride, dy_left, 0.0f) : (float4)(0.0f);
    }
}

static inline void put_slice(__local float *x_tile, __local float *dy_tile, const struct tile_prefetch *prefetched)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int at = (PREFETCH_ROW + 8 * i) * TILE + PREFETCH_COLUMN;
        *(__local float4 *)&x_tile[at] = ROUND_QUAD(prefetched->x[i]);
        *(__local float4 *)&dy_tile[at] = ROUND_QUAD(prefetched->dy[i]);
    }
}

/* Returns the item's sums of row i of its tile, of which `left` rows exist. */
static inline float4 load_sums(const __global float *dw, int i, int left)
{
    return ROW_INDEX(i) < left ? *(const __global float4 *)(dw + ROW_INDEX(i) * PANEL) : (float4)(0.0f);
}

/* A group computes a tile of 64 inputs and 64 outputs over all rows, added to dW. */
GPU_KERNEL_OF(TILE_GROUP) void weight_gradient_gpu(__global float *dw, const __global float *dy, int dy_offset, int dy_stride,
                                              const __global float *x, int x_offset, int x_stride, int rows, int inputs,
                                              int outputs, float scale)
{
    __local float x_tile[2 * TILE_INPUTS * TILE] __attribute__((aligned(16)));  /* (2, 16, 64) */
    __local float dy_tile[2 * TILE_INPUTS * TILE] __attribute__((aligned(16))); /* (2, 16, 64) */
    int k = (int)get_group_id(0) * TILE, n = (int)get_group_id(1) * TILE, column = THREAD_COLUMN * 4;
    const struct tile_operands from = {
        .x = x + x_offset + (size_t)PREFETCH_ROW * x_stride + k + PREFETCH_COLUMN,
        .dy = dy + dy_offset + (size_t)PREFETCH_ROW * dy_stride + n + PREFETCH_COLUMN,
        .x_stride = x_stride,
        .x_left = inputs - k - PREFETCH_COLUMN,
        .dy_stride = dy_stride,
        .dy_left = outputs - n - PREFETCH_COLUMN,
        .rows = rows,
        .scale = scale,
    };
    /* The item's columns are in one panel, which may be missing. */
    int left = n + column / PANEL * PANEL < outputs ? inputs - k : 0;
    dw += (size_t)(n + column / PANEL * PANEL) * inputs + (size_t)k * PANEL + column % PANEL;
    struct tile_sums sums = {load_sums(dw, 0, left), load_sums(dw, 1, left), load_sums(dw, 2, left), load_sums(dw, 3, left),
                             load_sums(dw, 4, left), load_sums(dw, 5, left), load_sums(dw, 6, left), load_sums(dw, 7, left)};
    struct tile_prefetch prefetched;
    sum_slices(&sums, &prefetched, &from, x_tile, TILE, dy_tile, rows);
    /* Lanes beyond the outputs stay zero, even if x contains an infinity. */
    int4 is_output = n + column + (int4)(0, 1, 2, 3) < outputs;
#pragma unroll 1
    for (int i = 0; i < 8; i++, pass_rows(&sums)) {
        if (ROW_INDEX(i) < left) {
            *(__global float4 *)(dw + ROW_INDEX(i) * PANEL) = select((float4)(0.0f), sums.row0, is_output);
        }
    }
}
