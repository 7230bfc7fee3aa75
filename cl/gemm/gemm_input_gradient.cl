/* dx (M, K) = scale * dy (M, N) W + residual. W (N, K) is stored in panels of 32 outputs (product.cl). residual may
 * be dx itself.
 *
 * CPU variant: every element is one chain acc = fma(dy[m, n], scale * w[n, k], acc) over n = 0 .. N-1, starting with
 * the residual or zero. In bf16 dy and scale * W are rounded, and outputs are paired like inputs in product_bf16.cl;
 * tiles sum slices of DEPTH pairs and add each sum to the previous ones. GPU variant: transposes W for gemm.cl.
 *
 * Needs PRECISION, 0 (fp32) or 2 (bf16), of the multiplications. */
#ifndef PRECISION
#error "gemm_input_gradient.cl needs PRECISION"
#endif
#pragma OPENCL FP_CONTRACT OFF

#include "include/product.cl"
#include "include/fetch.cl"

#define OUTPUTS_TOGETHER INPUTS_TOGETHER

/* ---- CPU variant, in bf16 if the level has bf16 dot products ---- */

#if PRECISION == 0 || defined(HAS_DOT_BF16)
#define DEPTH 256 /* outputs, or pairs, per slice: 32 KB of W, for the second-level cache */

#include "include/transpose_square.cl"

/* Stores a vector of a row, of which `columns` elements exist. */
static inline void store_columns(const floatv *value, __global float *to, int columns)
{
    if (columns >= VECTOR_LANES) {
        vstorev(*value, 0, to);
    } else {
        float lanes[VECTOR_LANES];
        vstorev(*value, 0, lanes);
        for (int i = 0; i < columns; i++) {
            to[i] = lanes[i];
        }
    }
}

#define STEPS_A_LINE 16 /* elements of dy in a cache line */

/* Prefetches a cache line of each of the next rows of dy and, at the start, the lines of dx. */
static inline void fetch_rows(__global float *dx, size_t dx_stride, const __global operand_element *dy, size_t dy_stride,
                              int rows, int first)
{
    for (int r = rows; r < 2 * rows; r++) {
        FETCH_SOON(dy + r * dy_stride + first);
        if (first == 0) {
            FETCH_TO_WRITE(dx + r * dx_stride);
            FETCH_TO_WRITE(dx + r * dx_stride + 16);
        }
    }
}

/* dx (ROWS, columns) = ROWS rows of dy (ROWS, steps) times panel (steps, 32) + `from` (NULL: zero). The first
 * block of columns prefetches the next block of rows. */
#define DEFINE_ROWS(ROWS)                                                                                              \
    static inline void add_rows_##ROWS(__global float *dx, size_t dx_stride, const __global float *from,               \
                                       size_t from_stride, const __global operand_element *dy, size_t dy_stride,       \
                                       const weight_element *panel, int steps, int columns)                            \
    {                                                                                                                  \
        HOLD_ROWS(ROWS, operand_element, rows, dy, dy_stride * sizeof *dy)                                             \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(c, COUNT)                                                                                          \
        {                                                                                                              \
            floatv sums[ROWS][COUNT];                                                                                  \
            FOR_SUMS(r, ROWS, v, COUNT, sums[r][v] = 0.0f)                                                             \
            if (from) {                                                                                                \
                FOR_SUMS(r, ROWS, v, COUNT,                                                                            \
                         sums[r][v] = load_lanes(from + r * from_stride + COLUMN(c, v), columns - COLUMN(c, v)))       \
            }                                                                                                          \
            for (int first = 0; first < steps; first += STEPS_A_LINE) {                                                \
                if (c == 0) {                                                                                          \
                    fetch_rows(dx, dx_stride, dy, dy_stride, ROWS, first);                                             \
                }                                                                                                      \
                for (int n = first; n < min(steps, first + STEPS_A_LINE); n++) {                                       \
                    ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY, weightv,                                              \
                              vloadv(0, panel + n * PANEL + COLUMN(c, v)), operandv, rows[r][n])                       \
                }                                                                                                      \
            }                                                                                                          \
            FOR_SUMS(r, ROWS, v, COUNT,                                                                                \
                     store_columns(&sums[r][v], dx + r * dx_stride + COLUMN(c, v), columns - COLUMN(c, v)))            \
        }                                                                                                              \
    }
DEFINE_ROWS(1)
DEFINE_ROWS(2)
DEFINE_ROWS(4)
DEFINE_ROWS(BLOCK_ROWS)

#ifdef TILES_OF_PAIRS
#define ROWS_AT_ONCE MOST_TILED
/* Like DEFINE_ROWS, with tiles, for as many as possible of `left` rows; returns the count. */
static inline int add_rows(struct tiled *tiled, __global float *dx, size_t dx_stride, const __global float *from,
                           size_t from_stride, const __global operand_element *dy, size_t dy_stride,
                           const weight_element *panel, int left, int steps, int columns)
{
    int rows = min(left, MOST_TILED);
    multiply_tiles(tiled, (const __global uchar *)dy, dy_stride * sizeof *dy, rows, (ulong)panel, steps, 0);
    for (int i = 0; i < rows * (PANEL / VECTOR_LANES); i++) {
        int row = i / (PANEL / VECTOR_LANES), c = i % (PANEL / VECTOR_LANES) * VECTOR_LANES;
        floatv sums = as_floatv(vloadv(i, tiled->room));
        if (from) {
            sums += load_lanes(from + row * from_stride + c, columns - c);
        }
        store_columns(&sums, dx + row * dx_stride + c, columns - c);
    }
    return rows;
}
#else
#define ROWS_AT_ONCE BLOCK_ROWS
struct tiled {
    int unused; /* a level without tiles */
};

/* Like DEFINE_ROWS, for as many as possible of `left` rows; returns the count. */
static inline int add_rows(struct tiled *tiled, __global float *dx, size_t dx_stride, const __global float *from,
                           size_t from_stride, const __global operand_element *dy, size_t dy_stride,
                           const weight_element *panel, int left, int steps, int columns)
{
    (void)tiled;
    if (left >= BLOCK_ROWS) {
        add_rows_BLOCK_ROWS(dx, dx_stride, from, from_stride, dy, dy_stride, panel, steps, columns);
        return BLOCK_ROWS;
    }
    if (left >= 4) {
        add_rows_4(dx, dx_stride, from, from_stride, dy, dy_stride, panel, steps, columns);
        return 4;
    }
    if (left >= 2) {
        add_rows_2(dx, dx_stride, from, from_stride, dy, dy_stride, panel, steps, columns);
        return 2;
    }
    add_rows_1(dx, dx_stride, from, from_stride, dy, dy_stride, panel, steps, columns);
    return 1;
}
#endif

/* Packs a panel of `depth` outputs and 32 inputs; `square`: the first square of the panel in W. */
static inline void pack_panel(weight_element *panel, const __global float *square, int depth, int inputs, int inputs_left,
                              float scale)
{
    for (int n = 0; n < depth; n += 16) {
        const __global float *from = square + (size_t)(n / PANEL * PANEL) * inputs + n % PANEL;
        weight_element *to = panel + n / OUTPUTS_TOGETHER * PANEL;
        transpose_square(to, from, inputs_left, scale);
        transpose_square(to + 16, from + 16 * PANEL, inputs_left - 16, scale);
    }
}

/* Prefetches lines first .. end - 1 of the memory that pack_panel() reads: 64 in each square. */
static inline void fetch_squares(const __global float *square, int inputs, int first, int end)
{
    for (int line = first; line < end; line++) {
        FETCH_SOON(square + (size_t)(line / 64 * PANEL) * inputs + line % 64 * 16);
    }
}

/* A group computes rows_per_group rows and panels_per_group times 32 inputs (the last groups compute fewer). N is
 * processed in slices of DEPTH; between slices the sums are kept in dx, which changes their bits only with tiles.
 * In bf16, dy comes from round_bf16.cl. */
CPU_KERNEL void input_gradient_cpu(__global float *dx, int dx_offset, int dx_stride,
                                   const __global operand_element *dy, int dy_offset, int dy_stride, int rows,
                                   const __global float *w, int inputs, int outputs, float scale,
                                   const __global float *residual, int residual_offset, int residual_stride,
                                   int rows_per_group, int panels_per_group)
{
    int first = (int)get_group_id(1) * rows_per_group, end = min(rows, first + rows_per_group);
    int first_input = (int)get_group_id(0) * panels_per_group * PANEL;
    int end_input = min(inputs, first_input + panels_per_group * PANEL);
    dx += dx_offset;
    dy += dy_offset;
    residual = residual ? residual + residual_offset : 0;
    weight_element panel[DEPTH * PANEL];
    struct tiled tiled;
#ifdef TILES_OF_PAIRS
    uint room[MOST_TILED * PANEL];
    begin_tiled(&tiled, room);
#endif
    for (int start = 0; start < outputs; start += DEPTH * OUTPUTS_TOGETHER, dy += DEPTH) {
        int depth = min(outputs - start, DEPTH * OUTPUTS_TOGETHER), steps = panel_depth(depth);
        const __global float *sums = start ? dx : residual;
        size_t sums_stride = start ? dx_stride : residual_stride;
        for (int k = first_input; k < end_input; k += PANEL) {
            const __global float *square = w + (size_t)start * inputs + k * PANEL;
            int columns = inputs - k;
            pack_panel(panel, square, depth, inputs, columns, scale);
            /* Prefetch some lines of the next panel with each block of rows. */
            int is_last = k + PANEL >= end_input, next_start = start + DEPTH * OUTPUTS_TOGETHER;
            const __global float *next =
                is_last ? w + (size_t)next_start * inputs + first_input * PANEL : square + PANEL * PANEL;
            int lines = is_last ? max(min(outputs - next_start, DEPTH * OUTPUTS_TOGETHER), 0) * 2 : depth * 2, line = 0;
            int lines_a_block = lines / ((end - first) / ROWS_AT_ONCE + 1) + 1;
            for (int row = first; row < end;) {
                int left = end - row;
                __global float *to = dx + (size_t)row * dx_stride + k;
                const __global float *from = sums ? sums + (size_t)row * sums_stride + k : 0;
                const __global operand_element *operand = dy + (size_t)row * dy_stride;
                int next_line = min(lines, line + lines_a_block);
                fetch_squares(next, inputs, line, next_line);
                line = next_line;
                row += add_rows(&tiled, to, dx_stride, from, sums_stride, operand, dy_stride, panel, left, steps, columns);
            }
        }
    }
#ifdef TILES_OF_PAIRS
    end_tiled(&tiled);
#endif
}

#endif

/* ---- GPU variant ---- */

#if PRECISION == 0
#define JOIN(low, high) (low)
#else
#define JOIN(low, high) (round_bf16(low) >> 16 | round_bf16(high))
#endif

#if PRECISION == 2 && defined(HAS_MATRIX) && !defined(BF16_IS_PLAIN)
#define TRANSPOSES_WORDS /* 16-byte words, as gemm_matrix.cl reads them */
#include "include/operand16.cl"
#endif

/* out = Wᵀ (K, N), in panels of 32 inputs, zero beyond K; element or pair n of input k is out[((k / 32) *
 * depth + n) * 32 + k % 32], depth = panel_depth(N). A square of 32 inputs and 32 outputs is contiguous in
 * both, and is transposed by one group. */
GPU_KERNEL void transpose_weight_gpu(__global weight_element *out, const __global float *w, int inputs, int outputs)
{
    __local float square[PANEL * (PANEL + 1)]; /* odd pitch: no bank conflicts */
    int lane = (int)get_local_id(0) % PANEL, half_group = (int)get_local_id(0) / PANEL;
    int k = (int)get_group_id(0) * PANEL, n = (int)get_group_id(1) * PANEL;
    for (int i = half_group; i < PANEL; i += GROUP / PANEL) {
        square[i * (PANEL + 1) + lane] = k + i < inputs ? w[(size_t)n * inputs + (size_t)(k + i) * PANEL + lane] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#ifdef TRANSPOSES_WORDS
    int words = (outputs + PANEL - 1) / PANEL * CLF__SLICE_WORDS;
    __global uint4 *to = (__global uint4 *)out + ((size_t)(k / PANEL) * words + n / CLF__WORD_HALVES) * PANEL + lane;
    for (int j = half_group; j < CLF__SLICE_WORDS; j += GROUP / PANEL) {
        const __local float *from = &square[lane * (PANEL + 1) + j * CLF__WORD_HALVES];
        to[j * PANEL] = pack_word16((float4)(from[0], from[1], from[2], from[3]), (float4)(from[4], from[5], from[6], from[7]));
    }
#else
    out += ((size_t)k * panel_depth(outputs)) + (size_t)(n / OUTPUTS_TOGETHER) * PANEL + lane;
    int depth = panel_depth(min(outputs - n, PANEL));
    for (int j = half_group; j < depth; j += GROUP / PANEL) {
        /* outputs beyond N are zero in W */
        const __local float *from = &square[lane * (PANEL + 1) + j * OUTPUTS_TOGETHER];
        out[j * PANEL] = JOIN(from[0], from[OUTPUTS_TOGETHER - 1]);
    }
#endif
}
