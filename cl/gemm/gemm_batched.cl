/* For b < batches: c[b] (M, N) = alpha * a[b] (M, K) op(b[b]), op(b) = b (K, N), or bᵀ of b (N, K) if transpose_b.
 * Row-major; matrix b starts at offset + b * step, and its rows are `stride` apart. K = 0 gives zeros. Every
 * element is one chain acc = fma(a[m, k], b[k, n], acc) over k = 0 .. K-1. */

#include "math/gemm/layout.h"
#include "include/block.cl"

/* ---- CPU variant ---- */

/* Inputs packed at a time: 8 KB of private memory, which stays in the first-level cache. */
#define DEPTH 64

/* tile (ROWS, 32) += ROWS rows of a times a packed panel. */
#define DEFINE_BLOCK(ROWS)                                                                                             \
    static inline void block_##ROWS(float16 *tile, const __global float *a, size_t a_stride, const float *panel,       \
                                    int depth)                                                                         \
    {                                                                                                                  \
        HOLD_ROWS(ROWS, float, rows, a, a_stride * sizeof *a)                                                          \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(c, COUNT)                                                                                          \
        {                                                                                                              \
            floatv sums[ROWS][COUNT];                                                                                  \
            FOR_SUMS(r, ROWS, v, COUNT, sums[r][v] = vloadv(0, (float *)tile + r * PANEL + COLUMN(c, v)))              \
            for (int k = 0; k < depth; k++) {                                                                          \
                ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY_FLOATS, floatv,                                            \
                          vloadv(0, panel + k * PANEL + COLUMN(c, v)), floatv, rows[r][k])                             \
            }                                                                                                          \
            FOR_SUMS(r, ROWS, v, COUNT, vstorev(sums[r][v], 0, (float *)tile + r * PANEL + COLUMN(c, v)))              \
        }                                                                                                              \
    }
DEFINE_BLOCK(1)
DEFINE_BLOCK(2)
DEFINE_BLOCK(4)
DEFINE_BLOCK(BLOCK_ROWS)

/* Packs panel (depth, 32) of op(b), starting at input k and column n; columns beyond N are zero. */
static inline void pack_panel(float *panel, const __global float *b, int b_stride, int transpose_b, int depth,
                              int columns)
{
    if (transpose_b) {
        for (int n = 0; n < PANEL; n++) {
            for (int k = 0; k < depth; k++) {
                panel[k * PANEL + n] = n < columns ? b[(size_t)n * b_stride + k] : 0.0f;
            }
        }
    } else {
        for (int k = 0; k < depth; k++) {
            const __global float *row = b + (size_t)k * b_stride;
            if (columns == PANEL) {
                vstore16(vload16(0, row), 2 * k, panel);
                vstore16(vload16(1, row), 2 * k + 1, panel);
            } else {
                vstore16(load_part(row, min(columns, 16), 0.0f), 2 * k, panel);
                vstore16(load_part(row + 16, max(columns - 16, 0), 0.0f), 2 * k + 1, panel);
            }
        }
    }
}

/* Loads two vectors of a row of c, of which `columns` <= 32 elements exist. */
static inline void load_row(float16 *tile, const __global float *c, int columns)
{
    if (columns == PANEL) {
        tile[0] = vload16(0, c);
        tile[1] = vload16(1, c);
    } else {
        tile[0] = load_part(c, min(columns, 16), 0.0f);
        tile[1] = load_part(c + 16, max(columns - 16, 0), 0.0f);
    }
}

static inline void store_row(const float16 *tile, __global float *c, int columns)
{
    if (columns == PANEL) {
        vstore16(tile[0], 0, c);
        vstore16(tile[1], 1, c);
    } else {
        store_part(tile[0], c, min(columns, 16));
        store_part(tile[1], c + 16, max(columns - 16, 0));
    }
}

/* A group computes rows_per_group rows of 32 columns of one c. K is processed in slices of DEPTH; between slices
 * the sums are kept in c, which does not change their bits. */
CPU_KERNEL void gemm_batched_cpu(__global float *c, int c_offset, int c_stride, int c_step, const __global float *a,
                                 int a_offset, int a_stride, int a_step, const __global float *b, int b_offset,
                                 int b_stride, int b_step, int m, int n, int k, int transpose_b, float alpha,
                                 int rows_per_group)
{
    size_t batch = get_group_id(0);
    int column = (int)get_group_id(1) * PANEL;
    int first = (int)get_group_id(2) * rows_per_group;
    int end = min(m, first + rows_per_group);
    int columns = min(PANEL, n - column);
    c += c_offset + batch * c_step + column;
    a += a_offset + batch * a_step;
    b += b_offset + batch * b_step + (transpose_b ? (size_t)column * b_stride : column);
    float panel[DEPTH * PANEL];
    float16 tile[2 * BLOCK_ROWS];
    int start = 0;
    do {
        int depth = min(DEPTH, k - start);
        int last = start + depth == k;
        pack_panel(panel, b + (transpose_b ? start : (size_t)start * b_stride), b_stride, transpose_b, depth, columns);
        for (int row = first; row < end;) {
            int left = end - row;
            int count = left >= BLOCK_ROWS ? BLOCK_ROWS : left >= 4 ? 4 : left >= 2 ? 2 : 1;
            const __global float *a_rows = a + (size_t)row * a_stride + start;
            for (int r = 0; r < count; r++) {
                if (start == 0) {
                    tile[2 * r] = 0.0f;
                    tile[2 * r + 1] = 0.0f;
                } else {
                    load_row(tile + 2 * r, c + (size_t)(row + r) * c_stride, columns);
                }
            }
            switch (count) {
            case 1: block_1(tile, a_rows, a_stride, panel, depth); break;
            case 2: block_2(tile, a_rows, a_stride, panel, depth); break;
            case 4: block_4(tile, a_rows, a_stride, panel, depth); break;
            default: block_BLOCK_ROWS(tile, a_rows, a_stride, panel, depth); break;
            }
            for (int r = 0; r < count; r++) {
                if (last) {
                    tile[2 * r] *= alpha;
                    tile[2 * r + 1] *= alpha;
                }
                store_row(tile + 2 * r, c + (size_t)(row + r) * c_stride, columns);
            }
            row += count;
        }
        start += depth;
    } while (start < k);
}

/* ---- GPU variant ---- */

#define TILE 32           /* rows and columns of a group's tile */
#define TILE_DEPTH 16     /* inputs in local memory at a time */
#define PITCH (TILE + 4)  /* padded to avoid bank conflicts of the transposing stores */

/* acc (4 rows of 4 columns) += the products of `steps` inputs. */
static inline void multiply_slice(float4 *acc, const __local float *a_tile, const __local float *b_tile, int steps)
{
    int along = (int)get_local_id(0) % 8, across = (int)get_local_id(0) / 8;
    for (int step = 0; step < steps; step++) {
        float4 left = *(const __local float4 *)&a_tile[step * PITCH + across * 4];
        float4 right = *(const __local float4 *)&b_tile[step * PITCH + along * 4];
        acc[0] = fma((float4)(left.x), right, acc[0]);
        acc[1] = fma((float4)(left.y), right, acc[1]);
        acc[2] = fma((float4)(left.z), right, acc[2]);
        acc[3] = fma((float4)(left.w), right, acc[3]);
    }
}

/* Stores 4 x 4 elements, clipped to `rows` and `columns`. */
static inline void put_elements(__global float *c, int c_stride, int rows, int columns, const float4 *acc, float alpha)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float products[4];
        vstore4(acc[i] * alpha, 0, products);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (i < rows && j < columns) {
                c[(size_t)i * c_stride + j] = products[j];
            }
        }
    }
}

/* A group computes a tile of 32 rows and 32 columns of one c; an item computes 4 x 4 of it. The next slice of the
 * operands is loaded into registers while the current one is multiplied. */
GPU_KERNEL void gemm_batched_gpu(__global float *c, int c_offset, int c_stride, int c_step, const __global float *a,
                                 int a_offset, int a_stride, int a_step, const __global float *b, int b_offset,
                                 int b_stride, int b_step, int m, int n, int k, int transpose_b, float alpha)
{
    __local float a_tile[TILE_DEPTH * PITCH] __attribute__((aligned(16))); /* (16, 32) */
    __local float b_tile[TILE_DEPTH * PITCH] __attribute__((aligned(16))); /* (16, 32) */
    size_t batch = get_group_id(0);
    int item = (int)get_local_id(0);
    int along = item % 8, across = item / 8;
    int column = (int)get_group_id(1) * TILE;
    int row = (int)get_group_id(2) * TILE;
    c += c_offset + batch * c_step;
    a += a_offset + batch * a_step;
    b += b_offset + batch * b_step;

    /* The prefetch registers of an item for b: element (b_input + i * b_input_step, b_column + i *
     * b_column_step) for i < 8; neighbouring items read neighbouring memory. */
    int b_input = transpose_b ? item % TILE_DEPTH : item / TILE, b_input_step = transpose_b ? 0 : 2;
    int b_column = column + (transpose_b ? item / TILE_DEPTH : item % TILE), b_column_step = transpose_b ? 4 : 0;
    size_t along_k = transpose_b ? 1 : b_stride, along_n = transpose_b ? b_stride : 1;
    int a_input = item % TILE_DEPTH, a_row = row + item / TILE_DEPTH;
    float a_next[8], b_next[8];

    float4 acc[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        acc[i] = 0.0f;
    }
    for (int start = -TILE_DEPTH; start < k; start += TILE_DEPTH) {
        int next = start + TILE_DEPTH;
        if (next < k) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int r = a_row + 4 * i, input = next + a_input;
                a_next[i] = r < m && input < k ? a[(size_t)r * a_stride + input] : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int input = next + b_input + i * b_input_step, col = b_column + i * b_column_step;
                b_next[i] = input < k && col < n ? b[input * along_k + col * along_n] : 0.0f;
            }
        }
        if (start >= 0) {
            multiply_slice(acc, a_tile, b_tile, min(TILE_DEPTH, k - start));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (next < k) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                a_tile[a_input * PITCH + item / TILE_DEPTH + 4 * i] = a_next[i];
                b_tile[(b_input + i * b_input_step) * PITCH + b_column - column + i * b_column_step] = b_next[i];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int r = row + across * 4, col = column + along * 4;
    put_elements(c + (size_t)r * c_stride + col, c_stride, m - r, n - col, acc, alpha);
}
