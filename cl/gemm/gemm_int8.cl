/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual with int8 weights: product_int8.cl
 * describes their layout and the sums. x: operands, rows of `pitch` bytes as quantize.cl writes them.
 * residual may be y itself.
 *
 * Needs ACTIVATION, a value of enum clf__activation. */
#ifndef ACTIVATION
#error "gemm_int8.cl needs ACTIVATION"
#endif

#define PRECISION 3 /* CLF_PRECISION_INT8 */
#include "include/weight_gemm.cl"

/* ---- CPU variant ---- */

/* A group computes its share of the rows of one panel. */
CPU_KERNEL void gemm_int8_cpu(__global float *y, int y_offset, int y_stride, const __global uchar *x, int pitch, WEIGHT_ARGUMENTS)
{
    multiply_share(y, y_offset, y_stride, x, pitch, WEIGHT_NAMES);
}

/* ---- GPU variant ---- */

typedef int tile_number; /* a word: four inputs, or a sum */
typedef int4 tile_quad;
#define ADD_COLUMNS(sums, a, b)                                                                                        \
    (int4)(dot_word((sums).x, a, (b).x), dot_word((sums).y, a, (b).y), dot_word((sums).z, a, (b).z),                   \
           dot_word((sums).w, a, (b).w))
#include "include/tile_gpu.cl"

/* The prefetch registers of an item: the words of x[x_row + 8i] and group x_group, and of the four columns
 * w_column of group w_group in both panels. */
struct tile_prefetch {
    int x[8];
    int4 left, right;
};
#define PREFETCH_X_GROUP  ((int)get_local_id(0) % TILE_INPUTS)
#define PREFETCH_X_ROW    ((int)get_local_id(0) / TILE_INPUTS)
#define PREFETCH_W_GROUP  ((int)get_local_id(0) / 8)
#define PREFETCH_W_COLUMN ((int)get_local_id(0) % 8 * 4)

/* x: the item's element of group 0 in the first row of the tile, which has `rows` rows; left and right: the
 * panels. */
struct tile_operands {
    const __global uchar *x;
    const __global char *left, *right;
    int pitch, rows, has_right, groups;
};

static inline void fetch_slice(struct tile_prefetch *prefetched, const struct tile_operands *from, int next)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int inside = PREFETCH_X_ROW + 8 * i < from->rows && next + PREFETCH_X_GROUP < from->groups;
        prefetched->x[i] = inside ? *(const __global int *)(from->x + (size_t)(8 * i) * from->pitch + next * 4) : 0;
    }
    int inside = next + PREFETCH_W_GROUP < from->groups;
    size_t at = (size_t)next * (4 * PANEL) + get_local_id(0) * 16;
    prefetched->left = inside ? *(const __global int4 *)(from->left + at) : (int4)(0);
    prefetched->right = inside && from->has_right ? *(const __global int4 *)(from->right + at) : (int4)(0);
}

static inline void put_slice(__local int *x_tile, __local int *w_tile, const struct tile_prefetch *prefetched)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x_tile[PREFETCH_X_GROUP * X_PITCH + PREFETCH_X_ROW + 8 * i] = prefetched->x[i];
    }
    *(__local int4 *)&w_tile[PREFETCH_W_GROUP * TILE + PREFETCH_W_COLUMN] = prefetched->left;
    *(__local int4 *)&w_tile[PREFETCH_W_GROUP * TILE + PANEL + PREFETCH_W_COLUMN] = prefetched->right;
}

/* Returns the scale s of a row of operands, and the zero point. */
static inline float row_scale(const __global uchar *x, int pitch, int row)
{
    return *(const __global float *)(x + (size_t)(row + 1) * pitch - 8);
}

static inline uint row_zero(const __global uchar *x, int pitch, int row)
{
    return *(const __global uint *)(x + (size_t)(row + 1) * pitch - 4);
}

/* A group computes a tile of 64 rows and 64 columns; an item computes 8 x 4 of it. */
GPU_KERNEL_OF(TILE_GROUP) void gemm_int8_tile_gpu(__global float *y, int y_offset, int y_stride, const __global uchar *x,
                                             int pitch, WEIGHT_ARGUMENTS)
{
    __local int x_tile[2 * TILE_INPUTS * X_PITCH] __attribute__((aligned(16))); /* (2, 16, 64) */
    __local int w_tile[2 * TILE_INPUTS * TILE] __attribute__((aligned(16)));    /* (2, 16, 64) */
    int in_tile = THREAD_COLUMN * 4; /* the item's first column */
    int column = (int)get_group_id(0) * TILE, row = (int)get_group_id(1) * TILE;
    const __global char *left = w + (size_t)get_group_id(0) * 2 * panel_bytes(inputs);
    const struct tile_operands from = {
        .x = x + (size_t)(row + PREFETCH_X_ROW) * pitch + PREFETCH_X_GROUP * 4,
        .left = left,
        .right = left + panel_bytes(inputs),
        .pitch = pitch,
        .rows = rows - row,
        .has_right = column + PANEL < outputs,
        .groups = groups_of(inputs),
    };
    struct tile_prefetch prefetched;
    struct tile_sums sums = {0, 0, 0, 0, 0, 0, 0, 0};
    sum_slices(&sums, &prefetched, &from, x_tile, X_PITCH, w_tile, from.groups);
    /* The item's columns are in one panel; columns of a missing panel are not stored. */
    const __global char *panel = in_tile >= PANEL && from.has_right ? from.right : left;
    float4 t = *(const __global float4 *)(panel_scales(panel, inputs) + in_tile % PANEL);
    uint4 sum = *(const __global uint4 *)(panel_sums(panel, inputs) + in_tile % PANEL);
    int first = column + in_tile;
    float4 shift = load_shifts(bias, first, outputs);
    /* Rows beyond the last one use the last row's scale and are not stored. */
#pragma unroll 1
    for (int i = 0; i < 8; i++, pass_rows(&sums)) {
        int r = row + ROW_INDEX(i), inside = min(r, rows - 1);
        float4 product = convert_float4(as_int4(as_uint4(sums.row0) - row_zero(x, pitch, inside) * sum));
        product = fma((float4)(scale), product * (row_scale(x, pitch, inside) * t), shift);
        store_four(activate4(product), y, y_offset, y_stride, r, first, WEIGHT_NAMES);
    }
}

#define SKINNY_ROWS   CLF__SKINNY_ROWS
#define SKINNY_GROUPS 64 /* groups of four inputs */

/* acc (4 rows) += the products of 4 rows and a column, for group g of a slice. */
static inline void multiply_words(int4 *acc, const __local int *x_tile, const __local int *w_tile, int g)
{
    int4 q = *(const __local int4 *)&x_tile[g * SKINNY_ROWS];
    int word = w_tile[g * PANEL];
    *acc = (int4)(dot_word(acc->x, q.x, word), dot_word(acc->y, q.y, word), dot_word(acc->z, q.z, word),
                  dot_word(acc->w, q.w, word));
}

/* Like multiply_words(), for all g < steps <= SKINNY_GROUPS: x_tile starts at the item's rows, w_tile at its
 * column. */
static inline void multiply_skinny(int4 *acc, const __local int *x_tile, const __local int *w_tile, int steps)
{
    if (steps >= SKINNY_GROUPS) {
#pragma unroll 8
        for (int step = 0; step < SKINNY_GROUPS; step++) {
            multiply_words(acc, x_tile, w_tile, step);
        }
    } else {
        for (int step = 0; step < steps; step++) {
            multiply_words(acc, x_tile, w_tile, step);
        }
    }
}

/* The prefetch registers of an item: group x_group of rows x_row, x_row + 2 ... of x, and its part of W. */
struct skinny_prefetch {
    int x[SKINNY_ROWS / 2];
    int4 w[SKINNY_GROUPS / 16];
};
#define SKINNY_X_GROUP ((int)get_local_id(0) % SKINNY_GROUPS)
#define SKINNY_X_ROW   ((int)get_local_id(0) / SKINNY_GROUPS)

/* Loads the slice of `rows` rows starting at group `next`; the item's part of x starts at its group and row. */
static inline void fetch_skinny(struct skinny_prefetch *prefetched, const __global uchar *x, int pitch, int rows,
                                const __global char *panel, int groups, int next)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < SKINNY_GROUPS / 16; i++) {
        /* 8 items per group of inputs, so all items load 16 groups at a time */
        int inside = next + i * 16 + item / 8 < groups;
        size_t at = (size_t)(next + i * 16) * (4 * PANEL) + item * 16;
        prefetched->w[i] = inside ? *(const __global int4 *)(panel + at) : (int4)(0);
    }
#pragma unroll
    for (int i = 0; i < SKINNY_ROWS / 2; i++) {
        int inside = SKINNY_X_ROW + 2 * i < rows && next + SKINNY_X_GROUP < groups;
        prefetched->x[i] = inside ? *(const __global int *)(x + (size_t)(2 * i) * pitch + next * 4) : 0;
    }
}

static inline void put_skinny(__local int *x_tile, __local int *w_tile, const struct skinny_prefetch *prefetched)
{
#pragma unroll
    for (int i = 0; i < SKINNY_GROUPS / 16; i++) {
        *(__local int4 *)&w_tile[i * 16 * PANEL + (int)get_local_id(0) * 4] = prefetched->w[i];
    }
#pragma unroll
    for (int i = 0; i < SKINNY_ROWS / 2; i++) {
        x_tile[SKINNY_X_GROUP * SKINNY_ROWS + SKINNY_X_ROW + 2 * i] = prefetched->x[i];
    }
}

/* For few rows, where reading W dominates the time, or if there are fewer tiles than cores. A group computes 16
 * rows of one panel; an item computes 4 rows of one column. All items together load the next slice of the panel, 4
 * int4 each, while the current slice is multiplied. */
GPU_KERNEL_OF(TILE_GROUP) void gemm_int8_skinny_gpu(__global float *y, int y_offset, int y_stride, const __global uchar *x,
                                               int pitch, WEIGHT_ARGUMENTS)
{
    __local int x_tile[SKINNY_GROUPS * SKINNY_ROWS] __attribute__((aligned(16))); /* (64, 16) */
    __local int w_tile[SKINNY_GROUPS * PANEL] __attribute__((aligned(16)));       /* (64, 32) */
    int item = (int)get_local_id(0);
    int lane = item % PANEL, quarter = item / PANEL;
    int column = (int)get_group_id(0) * PANEL;
    int row = (int)get_group_id(1) * SKINNY_ROWS;
    int groups = groups_of(inputs);
    const __global uchar *x_from = x + (size_t)(row + SKINNY_X_ROW) * pitch + SKINNY_X_GROUP * 4;
    const __global char *panel = w + get_group_id(0) * panel_bytes(inputs);
    struct skinny_prefetch prefetched;
    int4 acc = 0;
    for (int g = -SKINNY_GROUPS; g < groups; g += SKINNY_GROUPS) {
        int next = g + SKINNY_GROUPS;
        int has_next = next < groups;
        if (has_next) {
            fetch_skinny(&prefetched, x_from, pitch, rows - row, panel, groups, next);
        }
        if (g >= 0 && row + quarter * 4 < rows) {
            multiply_skinny(&acc, x_tile + quarter * 4, w_tile + lane, groups - g);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (has_next) {
            put_skinny(x_tile, w_tile, &prefetched);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int sums[4];
    vstore4(acc, 0, sums);
    float t = panel_scales(panel, inputs)[lane];
    uint sum = panel_sums(panel, inputs)[lane];
    int c = column + lane;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int r = row + quarter * 4 + i;
        if (r < rows && c < outputs) {
            float product = (float)(int)((uint)sums[i] - row_zero(x, pitch, r) * sum) * (row_scale(x, pitch, r) * t);
            float value = activate(fma(scale, product, bias ? bias[c] : 0.0f));
            value += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
            y[y_offset + (size_t)r * y_stride + c] = value;
        }
    }
}
