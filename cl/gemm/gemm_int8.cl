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

#include "include/skinny_int8_gpu.cl"

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

/* For few rows, where reading W dominates the time, or if there are fewer tiles than cores: a group computes a tile of
 * skinny_int8_gpu.cl. */
GPU_KERNEL_OF(TILE_GROUP) void gemm_int8_skinny_gpu(__global float *y, int y_offset, int y_stride, const __global uchar *x,
                                               int pitch, WEIGHT_ARGUMENTS)
{
    __local int x_tile[SKINNY_GROUPS * SKINNY_ROWS] __attribute__((aligned(16))); /* (64, 16) */
    __local int w_tile[SKINNY_GROUPS * PANEL] __attribute__((aligned(16)));       /* (64, 32) */
    multiply_skinny_tile(x_tile, w_tile, (int)get_group_id(0) * PANEL, (int)get_group_id(1) * SKINNY_ROWS, 1, y, y_offset,
                         y_stride, x, pitch, WEIGHT_NAMES);
}
