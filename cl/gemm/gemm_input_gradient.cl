/* dx (M, K) = scale * dy (M, N) W + residual of W (N, K), which is stored in panels of 32 outputs
 * (product.cl). residual may be dx itself.
 *
 * CPU variant: every element is one chain acc = fma(dy[m, n], scale * w[n, k], acc) over n = 0 .. N-1 from
 * the residual or zero. In bf16 dy and scale * W are rounded, and outputs are paired like inputs in
 * product_bf16.cl; tiles sum slices of DEPTH pairs and add each sum to the previous ones. GPU variant:
 * transposes W for gemm.cl.
 *
 * Needs PRECISION, 0 (fp32) or 2 (bf16), of the multiplications. */
#ifndef PRECISION
#error "gemm_input_gradient.cl needs PRECISION"
#endif
#pragma OPENCL FP_CONTRACT OFF

#include "include/product.cl"
#include "include/fetch.cl"

#define OUTPUTS_TOGETHER INPUTS_TOGETHER

/* ---- CPU variant, in bf16 if the level has dot products of bf16 ---- */

#if PRECISION == 0 || defined(HAS_DOT_BF16)
#define DEPTH 256 /* outputs, or pairs, per slice: 32 KB of W, for the second-level cache */

#define ZIP_LOW(a, b)                                                                                                  \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define ZIP_HIGH(a, b)                                                                                                 \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)

/* Transposes a square: to (16 outputs, 16 inputs), rows PANEL apart, = scale * w (16 inputs, 16 outputs), of
 * which `inputs` exist. Zipping rows i and i + 8 rotates the bits of (row, lane) by one position; four rounds
 * exchange row and lane. */
static inline void transpose_square(weight_element *to, const __global float *w, int inputs, float scale)
{
    float16 a[16], b[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        a[i] = i < inputs ? scale * vload16(0, w + i * PANEL) : (float16)(0.0f);
    }
#define ZIP(OUT, IN)                                                                                                   \
    _Pragma("unroll") for (int i = 0; i < 8; i++)                                                                      \
    {                                                                                                                  \
        OUT[2 * i] = ZIP_LOW(IN[i], IN[i + 8]);                                                                        \
        OUT[2 * i + 1] = ZIP_HIGH(IN[i], IN[i + 8]);                                                                   \
    }
    ZIP(b, a)
    ZIP(a, b)
    ZIP(b, a)
    ZIP(a, b)
#pragma unroll
    for (int i = 0; i < 16; i += OUTPUTS_TOGETHER) {
#if PRECISION == 0
        vstore16(a[i], 0, to + i * PANEL);
#else
        vstore16(round_bf16_16(a[i]) >> 16 | round_bf16_16(a[i + 1]), 0, to + i / 2 * PANEL);
#endif
    }
}

/* Stores a vector of a row; `columns` elements from here on exist. */
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

/* dx (ROWS, columns) = ROWS rows of dy (ROWS, steps) times panel (steps, 32) + `from`, zero if that is
 * NULL. The first block of columns prefetches the next block of rows. */
#define DEFINE_ROWS(ROWS)                                                                                              \
    static inline void add_rows_##ROWS(__global float *dx, size_t dx_stride, const __global float *from,               \
                                       size_t from_stride, const __global operand_element *dy, size_t dy_stride,       \
                                       const weight_element *panel, int steps, int columns)                            \
    {                                                                                                                  \
        HOLD_ROWS(ROWS, operand_element, rows, dy, dy_stride * sizeof *dy)                                             \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(COUNT)                                                                                             \
        {                                                                                                              \
            floatv sums[ROWS][COUNT];                                                                                  \
            FOR_SUMS(ROWS, COUNT, sums[r][v] = 0.0f)                                                                   \
            if (from) {                                                                                                \
                FOR_SUMS(ROWS, COUNT, sums[r][v] = load_lanes(from + r * from_stride + COLUMN, columns - COLUMN))      \
            }                                                                                                          \
            for (int first = 0; first < steps; first += STEPS_A_LINE) {                                                \
                if (c == 0) {                                                                                          \
                    fetch_rows(dx, dx_stride, dy, dy_stride, ROWS, first);                                             \
                }                                                                                                      \
                for (int n = first; n < min(steps, first + STEPS_A_LINE); n++) {                                       \
                    ADD_INPUT(ROWS, COUNT, sums, MULTIPLY, weightv, vloadv(0, panel + n * PANEL + COLUMN), operandv,   \
                              rows[r][n])                                                                              \
                }                                                                                                      \
            }                                                                                                          \
            FOR_SUMS(ROWS, COUNT, store_columns(&sums[r][v], dx + r * dx_stride + COLUMN, columns - COLUMN))           \
        }                                                                                                              \
    }
DEFINE_ROWS(1)
DEFINE_ROWS(2)
DEFINE_ROWS(4)
DEFINE_ROWS(BLOCK_ROWS)

#ifdef TILES_OF_PAIRS
/* The same with tiles, for up to MOST_TILED rows. */
static inline void add_rows_tiled(struct tiled *tiled, __global float *dx, size_t dx_stride, const __global float *from,
                                  size_t from_stride, const __global operand_element *dy, size_t dy_stride,
                                  const weight_element *panel, int rows, int steps, int columns)
{
    multiply_tiles(tiled, (const __global uchar *)dy, dy_stride * sizeof *dy, rows, (ulong)panel, steps, 0);
    for (int i = 0; i < rows * (PANEL / VECTOR_LANES); i++) {
        int row = i / (PANEL / VECTOR_LANES), c = i % (PANEL / VECTOR_LANES) * VECTOR_LANES;
        floatv sums = as_floatv(vloadv(i, tiled->room));
        if (from) {
            sums += load_lanes(from + row * from_stride + c, columns - c);
        }
        store_columns(&sums, dx + row * dx_stride + c, columns - c);
    }
}
#define ROWS_AT_ONCE MOST_TILED
#else
#define ROWS_AT_ONCE BLOCK_ROWS
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

/* A group: rows_per_group rows and panels_per_group times 32 inputs (the last groups fewer). N is
 * processed in slices of DEPTH; the sums are kept in dx meanwhile, which changes their bits only with
 * tiles. dy: in bf16 from round_bf16.cl. */
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
#ifdef TILES_OF_PAIRS
    uint room[MOST_TILED * PANEL];
    struct tiled tiled;
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
#ifdef TILES_OF_PAIRS
                int count = min(left, MOST_TILED);
                add_rows_tiled(&tiled, to, dx_stride, from, sums_stride, operand, dy_stride, panel, count, steps, columns);
                row += count;
#else
#define ADD_ROWS(COUNT)                                                                                                \
    add_rows_##COUNT(to, dx_stride, from, sums_stride, operand, dy_stride, panel, steps, columns);                     \
    row += COUNT;
                if (left >= BLOCK_ROWS) {
                    ADD_ROWS(BLOCK_ROWS)
                } else if (left >= 4) {
                    ADD_ROWS(4)
                } else if (left >= 2) {
                    ADD_ROWS(2)
                } else {
                    ADD_ROWS(1)
                }
#endif
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

#if PRECISION == 2 && defined(HAS_MATRIX)
#define TRANSPOSES_WORDS /* words of 16 bytes, as gemm_matrix.cl reads them */
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
