/* Few rows of int8 operands times a panel of weights, GPU variant: SKINNY_ROWS rows and PANEL outputs, by a group of
 * TILE_GROUP work-items. Include file, not a program; include after weight_gemm.cl. */
/* Returns the scale s of a row of operands, and the zero point. */
static inline float row_scale(const FRESH __global uchar *x, int pitch, int row)
{
    return *(const FRESH __global float *)(x + (size_t)(row + 1) * pitch - 8);
}

static inline uint row_zero(const FRESH __global uchar *x, int pitch, int row)
{
    return *(const FRESH __global uint *)(x + (size_t)(row + 1) * pitch - 4);
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
static inline void fetch_skinny(struct skinny_prefetch *prefetched, const FRESH __global uchar *x, int pitch, int rows,
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
        prefetched->x[i] = inside ? *(const FRESH __global int *)(x + (size_t)(2 * i) * pitch + next * 4) : 0;
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

/* Computes the tile at (row, column) of y, a work-item 4 rows of one column. All work-items together load the next
 * slice of the panel, 4 int4 each, while the current slice is multiplied. x_tile: (SKINNY_GROUPS, SKINNY_ROWS), w_tile:
 * (SKINNY_GROUPS, PANEL). Without `activates` the activation is the identity. */
static inline __attribute__((always_inline)) void multiply_skinny_tile(__local int *x_tile, __local int *w_tile, int column,
                                                                       int row, int activates, __global float *y, int y_offset,
                                                                       int y_stride, const __global uchar *x, int pitch,
                                                                       WEIGHT_ARGUMENTS)
{
    int item = (int)get_local_id(0);
    int lane = item % PANEL, quarter = item / PANEL;
    int groups = groups_of(inputs);
    const __global uchar *x_from = x + (size_t)(row + SKINNY_X_ROW) * pitch + SKINNY_X_GROUP * 4;
    const __global char *panel = w + column / PANEL * panel_bytes(inputs);
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
            float value = fma(scale, product, bias ? bias[c] : 0.0f);
            value = activates ? activate(value) : value;
            value += residual ? residual[residual_offset + (size_t)r * residual_stride + c] : 0.0f;
            y[y_offset + (size_t)r * y_stride + c] = value;
        }
    }
}
