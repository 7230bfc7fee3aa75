/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual with int8 weights: product_int8.cl says how they lie and
 * what is summed. x: operands, rows of `pitch` bytes as quantize.cl writes them. residual may be y itself.
 *
 * Needs ACTIVATION, a value of enum clf__activation. */
#ifndef ACTIVATION
#error "gemm_int8.cl needs ACTIVATION"
#endif

#define PRECISION 3 /* CLF_PRECISION_INT8 */
#include "include/panel_rows.cl"
#include "include/groups.cl"

/* ---- CPU form ---- */

/* A group: its share of the rows of one panel. */
CPU_KERNEL void gemm_int8_cpu(__global float *y, int y_offset, int y_stride, const __global uchar *x, int pitch,
                              int rows, const __global char *w, int inputs, int outputs, float scale,
                              const __global float *bias, const __global float *residual, int residual_offset,
                              int residual_stride)
{
    int column = (int)get_group_id(0) * PANEL;
    int group = (int)get_group_id(1), groups = (int)get_num_groups(1);
    int first = first_row(rows, group, groups), end = min(rows, first_row(rows, group + 1, groups));
    const struct panel_result result = {
        .y = y + y_offset + (size_t)first * y_stride + column,
        .y_stride = y_stride,
        .residual = residual ? residual + residual_offset + (size_t)first * residual_stride + column : 0,
        .residual_stride = residual_stride,
        .bias = bias ? bias + column : 0,
        .scale = scale,
        .columns = outputs - column,
        .activates = 1,
    };
    multiply_panel(&result, x + (size_t)first * pitch, pitch, end - first, w + get_group_id(0) * PANEL_ELEMENTS(inputs),
                   inputs);
}

/* ---- GPU form ---- */

#define TILE 64            /* rows and columns of a group's tile: two panels wide */
#define TILE_GROUPS 8      /* groups of four inputs that lie in local memory at a time */
#define X_PITCH (TILE + 4) /* padded, so that the transposing stores meet fewer bank conflicts */

/* The 8 rows (or columns) of an item: 4 neighbours in each half of the tile, so that neighbouring items read
 * neighbouring int4. */
#define SPOT(lane, i) ((i) / 4 * 32 + (lane)*4 + (i) % 4)

/* acc (8 columns) += the words of one row and 8 columns */
static inline int8 dot_words(int8 acc, int q, int8 w)
{
    return (int8)(dot_word(acc.s0, q, w.s0), dot_word(acc.s1, q, w.s1), dot_word(acc.s2, q, w.s2),
                  dot_word(acc.s3, q, w.s3), dot_word(acc.s4, q, w.s4), dot_word(acc.s5, q, w.s5),
                  dot_word(acc.s6, q, w.s6), dot_word(acc.s7, q, w.s7));
}

/* An item's sums, a row of 8 columns each: named, because an array of them ends in memory with some compilers. */
struct tile_sums {
    int8 row0, row1, row2, row3, row4, row5, row6, row7;
};

/* sums += the products of one slice, `steps` groups of inputs of it. */
static inline void multiply_slice(struct tile_sums *sums, const __local int *x_tile, const __local int *w_tile, int steps)
{
    int along = (int)get_local_id(0) % 8, across = (int)get_local_id(0) / 8;
    /* not unrolled: a step is 64 products of words, and hoisted loads cost more registers than there are */
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        int4 above = *(const __local int4 *)&x_tile[step * X_PITCH + across * 4];
        int4 below = *(const __local int4 *)&x_tile[step * X_PITCH + 32 + across * 4];
        int4 p = *(const __local int4 *)&w_tile[step * TILE + along * 4];
        int4 q = *(const __local int4 *)&w_tile[step * TILE + 32 + along * 4];
        int8 b = (int8)(p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w);
        sums->row0 = dot_words(sums->row0, above.x, b);
        sums->row1 = dot_words(sums->row1, above.y, b);
        sums->row2 = dot_words(sums->row2, above.z, b);
        sums->row3 = dot_words(sums->row3, above.w, b);
        sums->row4 = dot_words(sums->row4, below.x, b);
        sums->row5 = dot_words(sums->row5, below.y, b);
        sums->row6 = dot_words(sums->row6, below.z, b);
        sums->row7 = dot_words(sums->row7, below.w, b);
    }
}

/* The next row comes to row0. */
static inline void pass_rows(struct tile_sums *sums)
{
    sums->row0 = sums->row1;
    sums->row1 = sums->row2;
    sums->row2 = sums->row3;
    sums->row3 = sums->row4;
    sums->row4 = sums->row5;
    sums->row5 = sums->row6;
    sums->row6 = sums->row7;
}

/* What an item carries of the next slice: the words of x[item / 8 + 8i] and group item % 8, and of both panels those of
 * the four columns item % 8 * 4 of group item / 8. */
struct tile_cargo {
    int x[8];
    int4 left, right;
};

/* The slice from group `next` on, of a tile of so many rows: x from the item's place on. */
static inline void fetch_cargo(struct tile_cargo *cargo, const __global uchar *x, int pitch, int rows,
                               const __global char *left, const __global char *right, int has_right, int groups, int next)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int inside = item / 8 + 8 * i < rows && next + item % 8 < groups;
        cargo->x[i] = inside ? *(const __global int *)(x + (size_t)(8 * i) * pitch + next * 4) : 0;
    }
    int inside = next + item / 8 < groups;
    size_t at = (size_t)next * (4 * PANEL) + item * 16;
    cargo->left = inside ? *(const __global int4 *)(left + at) : (int4)(0);
    cargo->right = inside && has_right ? *(const __global int4 *)(right + at) : (int4)(0);
}

static inline void put_cargo(__local int *x_tile, __local int *w_tile, const struct tile_cargo *cargo)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x_tile[item % 8 * X_PITCH + item / 8 + 8 * i] = cargo->x[i];
    }
    *(__local int4 *)&w_tile[item / 8 * TILE + item % 8 * 4] = cargo->left;
    *(__local int4 *)&w_tile[item / 8 * TILE + PANEL + item % 8 * 4] = cargo->right;
}

/* s of a row of operands, and what is to be subtracted from them */
static inline float row_scale(const __global uchar *x, int pitch, int row)
{
    return *(const __global float *)(x + (size_t)(row + 1) * pitch - 8);
}

static inline uint row_zero(const __global uchar *x, int pitch, int row)
{
    return *(const __global uint *)(x + (size_t)(row + 1) * pitch - 4);
}

/* A group: a tile of 64 rows and 64 columns, 8 x 8 of it an item. The next slice of the operands travels from global
 * memory to registers while the present one is multiplied. */
GPU_KERNEL void gemm_int8_tile_gpu(__global float *y, int y_offset, int y_stride, const __global uchar *x, int pitch,
                                   int rows, const __global char *w, int inputs, int outputs, float scale,
                                   const __global float *bias, const __global float *residual, int residual_offset,
                                   int residual_stride)
{
    __local int x_tile[TILE_GROUPS * X_PITCH] __attribute__((aligned(16))); /* (8, 64) */
    __local int w_tile[TILE_GROUPS * TILE] __attribute__((aligned(16)));    /* (8, 64) */
    int along = (int)get_local_id(0) % 8, across = (int)get_local_id(0) / 8;
    int column = (int)get_group_id(0) * TILE, row = (int)get_group_id(1) * TILE;
    int groups = groups_of(inputs);
    const __global uchar *x_from = x + (size_t)(row + across) * pitch + along * 4;
    const __global char *left = w + (size_t)get_group_id(0) * 2 * panel_bytes(inputs);
    const __global char *right = left + panel_bytes(inputs);
    int has_right = column + PANEL < outputs;
    struct tile_cargo cargo;
    struct tile_sums sums = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int g = -TILE_GROUPS; g < groups; g += TILE_GROUPS) {
        int next = g + TILE_GROUPS;
        if (next < groups) {
            fetch_cargo(&cargo, x_from, pitch, rows - row, left, right, has_right, groups, next);
        }
        if (g >= 0) {
            multiply_slice(&sums, x_tile, w_tile, min(TILE_GROUPS, groups - g));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (next < groups) {
            put_cargo(x_tile, w_tile, &cargo);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 t_left = *(const __global float4 *)(panel_scales(left, inputs) + along * 4);
    float4 t_right = has_right ? *(const __global float4 *)(panel_scales(right, inputs) + along * 4) : (float4)(0.0f);
    float8 t = (float8)(t_left.x, t_left.y, t_left.z, t_left.w, t_right.x, t_right.y, t_right.z, t_right.w);
    uint4 sum_left = *(const __global uint4 *)(panel_sums(left, inputs) + along * 4);
    uint4 sum_right = has_right ? *(const __global uint4 *)(panel_sums(right, inputs) + along * 4) : (uint4)(0);
    uint8 sum = (uint8)(sum_left.x, sum_left.y, sum_left.z, sum_left.w, sum_right.x, sum_right.y, sum_right.z,
                        sum_right.w);
#define SHIFT(j) (bias && column + SPOT(along, j) < outputs ? bias[column + SPOT(along, j)] : 0.0f)
    float8 shift = (float8)(SHIFT(0), SHIFT(1), SHIFT(2), SHIFT(3), SHIFT(4), SHIFT(5), SHIFT(6), SHIFT(7));
    /* Rows beyond the last take its scale and are not stored. */
#pragma unroll 1
    for (int i = 0; i < 8; i++, pass_rows(&sums)) {
        int r = row + SPOT(across, i), inside = min(r, rows - 1);
        float8 product = convert_float8(as_int8(as_uint8(sums.row0) - row_zero(x, pitch, inside) * sum));
        product = fma((float8)(scale), product * (row_scale(x, pitch, inside) * t), shift);
        float values[8];
        vstore8((float8)(activate4(product.lo), activate4(product.hi)), 0, values);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int c = column + SPOT(along, j);
            if (r < rows && c < outputs) {
                values[j] += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
                y[y_offset + (size_t)r * y_stride + c] = values[j];
            }
        }
    }
}

#define SKINNY_ROWS 8
#define SKINNY_GROUPS 32

/* acc (4 rows) += the words of 4 rows and a column */
#define SKINNY_STEP(g)                                                                                                 \
    {                                                                                                                  \
        int4 q = *(const __local int4 *)&x_tile[(g)*SKINNY_ROWS];                                                      \
        int word = w_tile[(g)*PANEL];                                                                                  \
        *acc = (int4)(dot_word(acc->x, q.x, word), dot_word(acc->y, q.y, word), dot_word(acc->z, q.z, word),           \
                      dot_word(acc->w, q.w, word));                                                                    \
    }

/* The same for all g < steps, SKINNY_GROUPS at most: x_tile from the item's rows on, w_tile from its column on. */
static inline void multiply_skinny(int4 *acc, const __local int *x_tile, const __local int *w_tile, int steps)
{
    if (steps >= SKINNY_GROUPS) {
#pragma unroll 8
        for (int step = 0; step < SKINNY_GROUPS; step++) {
            SKINNY_STEP(step)
        }
    } else {
        for (int step = 0; step < steps; step++) {
            SKINNY_STEP(step)
        }
    }
}

/* What an item carries of the next slice. */
struct skinny_cargo {
    int x[4];
    int4 w[4];
};

/* The slice from group `next` on: x from the item's group and `row`, the first of its 4 rows, on. */
static inline void fetch_skinny(struct skinny_cargo *cargo, const __global uchar *x, int pitch, int row, int rows,
                                const __global char *panel, int groups, int next)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        /* 8 items a group of inputs, so all items bring 8 of them at a time */
        int inside = next + i * 8 + item / 8 < groups;
        size_t at = (size_t)(next + i * 8) * (4 * PANEL) + item * 16;
        cargo->w[i] = inside ? *(const __global int4 *)(panel + at) : (int4)(0);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int inside = row + i < rows && next + item % PANEL < groups;
        cargo->x[i] = inside ? *(const __global int *)(x + (size_t)i * pitch + next * 4) : 0;
    }
}

/* For few rows, where reading W is all the work. A group: 8 rows of one panel, 4 rows of one column an item; all items
 * fetch the panel together, 4 int4 each under way while the slice before is multiplied. */
GPU_KERNEL void gemm_int8_skinny_gpu(__global float *y, int y_offset, int y_stride, const __global uchar *x, int pitch,
                                     int rows, const __global char *w, int inputs, int outputs, float scale,
                                     const __global float *bias, const __global float *residual,
                                     int residual_offset, int residual_stride)
{
    __local int x_tile[SKINNY_GROUPS * SKINNY_ROWS] __attribute__((aligned(16))); /* (32, 8) */
    __local int w_tile[SKINNY_GROUPS * PANEL] __attribute__((aligned(16)));       /* (32, 32) */
    int item = (int)get_local_id(0);
    int lane = item % PANEL, half_group = item / PANEL;
    int column = (int)get_group_id(0) * PANEL;
    int row = (int)get_group_id(1) * SKINNY_ROWS;
    int groups = groups_of(inputs);
    /* x: group g + lane of the 4 rows of the half */
    const __global uchar *x_from = x + (size_t)(row + half_group * 4) * pitch + lane * 4;
    const __global char *panel = w + get_group_id(0) * panel_bytes(inputs);
    struct skinny_cargo cargo;
    int4 acc = 0;
    for (int g = -SKINNY_GROUPS; g < groups; g += SKINNY_GROUPS) {
        int next = g + SKINNY_GROUPS;
        int has_next = next < groups;
        if (has_next) {
            fetch_skinny(&cargo, x_from, pitch, row + half_group * 4, rows, panel, groups, next);
        }
        if (g >= 0) {
            multiply_skinny(&acc, x_tile + half_group * 4, w_tile + lane, groups - g);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (has_next) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                *(__local int4 *)&w_tile[i * 8 * PANEL + item * 4] = cargo.w[i];
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x_tile[lane * SKINNY_ROWS + half_group * 4 + i] = cargo.x[i];
            }
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
        int r = row + half_group * 4 + i;
        if (r < rows && c < outputs) {
            float product = (float)(int)((uint)sums[i] - row_zero(x, pitch, r) * sum) * (row_scale(x, pitch, r) * t);
            float value = activate(fma(scale, product, bias ? bias[c] : 0.0f));
            value += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
            y[y_offset + (size_t)r * y_stride + c] = value;
        }
    }
}
