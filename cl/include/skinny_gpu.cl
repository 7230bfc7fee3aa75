/* Few rows times a panel of weights, GPU variant: SKINNY_ROWS rows and PANEL outputs, by a group of TILE_GROUP
 * work-items. Include file, not a program; include after weight_gemm.cl. */
#define SKINNY_ROWS  CLF__SKINNY_ROWS
#define SKINNY_DEPTH 128
#ifndef SKINNY_BATCH
#define SKINNY_BATCH 4 /* inputs read from local memory while the previous ones are multiplied */
#endif
#define SKINNY_LOADS (SKINNY_DEPTH * PANEL / 4 / TILE_GROUP / INPUTS_TOGETHER) /* loads per item for a slice of W */

/* A few adjacent inputs of an item's 4 rows and of its column. */
struct skinny_batch {
    float4 x[SKINNY_BATCH];
    float w[SKINNY_BATCH];
};

static inline void load_batch(struct skinny_batch *batch, const __local float *x_tile, const __local float *w_tile, int k)
{
#pragma unroll
    for (int i = 0; i < SKINNY_BATCH; i++) {
        batch->x[i] = *(const __local float4 *)&x_tile[(k + i) * SKINNY_ROWS];
        batch->w[i] = w_tile[(k + i) * PANEL];
    }
}

static inline void add_batch(float4 *acc, const struct skinny_batch *batch)
{
#pragma unroll
    for (int i = 0; i < SKINNY_BATCH; i++) {
        *acc = fma(batch->x[i], (float4)(batch->w[i]), *acc);
    }
}

/* acc (4) += the products of a slice's inputs, at most SKINNY_DEPTH: x_tile starts at the item's rows, w_tile at its
 * column. */
static inline void multiply_skinny(float4 *acc, const __local float *x_tile, const __local float *w_tile, int inputs)
{
    if (inputs >= SKINNY_DEPTH) {
        struct skinny_batch even, odd;
        load_batch(&even, x_tile, w_tile, 0);
#pragma unroll 1
        for (int k = 0; k < SKINNY_DEPTH; k += 2 * SKINNY_BATCH) {
            load_batch(&odd, x_tile, w_tile, k + SKINNY_BATCH);
            add_batch(acc, &even);
            /* After the last batch the first one is read again, unused: cheaper than a branch. */
            load_batch(&even, x_tile, w_tile, (k + 2 * SKINNY_BATCH) % SKINNY_DEPTH);
            add_batch(acc, &odd);
        }
    } else {
        for (int k = 0; k < inputs; k++) {
            *acc = fma(*(const __local float4 *)&x_tile[k * SKINNY_ROWS], (float4)(w_tile[k * PANEL]), *acc);
        }
    }
}

/* The prefetch registers of an item: its part of W, and one input of all rows of x. */
struct skinny_prefetch {
    float x[SKINNY_ROWS];
    weight4 w[SKINNY_LOADS];
};

/* Loads the slice starting at input `next`, zeros beyond the last one; x_from and w_from are the item's
 * elements in the first slice. */
static inline void fetch_skinny(struct skinny_prefetch *prefetched, const FRESH __global float *x_from, int x_stride, int rows,
                                const __global weight_element *w_from, int inputs, int next)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < SKINNY_LOADS; i++) {
        /* 8 items per input, so the group loads 16 inputs or pairs at a time */
        int inside = next + (i * (TILE_GROUP / 8) + item / 8) * INPUTS_TOGETHER < inputs;
        const __global weight_element *from = w_from + (size_t)(next / INPUTS_TOGETHER + i * (TILE_GROUP / 8)) * PANEL;
        prefetched->w[i] = inside ? load_weight4(from) : (weight4)(0);
    }
#pragma unroll
    for (int i = 0; i < SKINNY_ROWS; i++) {
        prefetched->x[i] = i < rows && next + item < inputs ? x_from[(size_t)i * x_stride + next] : 0.0f;
    }
}

static inline void put_skinny(__local float *x_tile, __local float *w_tile, const struct skinny_prefetch *prefetched)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < SKINNY_LOADS; i++) {
        store_weight4(&w_tile[(i * (TILE_GROUP / 8) + item / 8) * INPUTS_TOGETHER * PANEL + item % 8 * 4], PANEL, prefetched->w[i]);
    }
#pragma unroll
    for (int i = 0; i < SKINNY_ROWS; i++) {
        x_tile[item * SKINNY_ROWS + i] = ROUND_OPERAND(prefetched->x[i]);
    }
}

/* Computes the tile at (row, column) of y, a work-item 4 rows of one column. All work-items together load the next
 * slice of the panel, 8 (bf16: 4) vectors each, while the current slice is multiplied. x_tile: (SKINNY_DEPTH,
 * SKINNY_ROWS), w_tile: (SKINNY_DEPTH, PANEL). Without `activates` the activation is the identity. */
static inline __attribute__((always_inline)) void multiply_skinny_tile(__local float *x_tile, __local float *w_tile, int column,
                                                                       int row, int activates, __global float *y, int y_offset,
                                                                       int y_stride, const __global float *x, int x_offset,
                                                                       int x_stride, WEIGHT_ARGUMENTS)
{
    int item = (int)get_local_id(0);
    int lane = item % PANEL, quarter = item / PANEL;
    const __global float *x_from = x + x_offset + (size_t)row * x_stride + item;
    const __global weight_element *w_from = w + (size_t)column * panel_depth(inputs) + item * 4;
    /* Load the operands of the epilogue at the start, because latency dominates. */
    int c = column + lane, first = row + quarter * 4;
    float shift = bias && c < outputs ? bias[c] : 0.0f, added[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int inside = residual && first + i < rows && c < outputs;
        added[i] = inside ? residual[residual_offset + (size_t)(first + i) * residual_stride + c] : 0.0f;
    }
    float4 acc = 0.0f;
    struct skinny_prefetch prefetched;
    fetch_skinny(&prefetched, x_from, x_stride, rows - row, w_from, inputs, 0);
    for (int k = 0; k < inputs; k += SKINNY_DEPTH) {
        put_skinny(x_tile, w_tile, &prefetched);
        barrier(CLK_LOCAL_MEM_FENCE);
        fetch_skinny(&prefetched, x_from, x_stride, rows - row, w_from, inputs, k + SKINNY_DEPTH);
        if (first < rows) {
            multiply_skinny(&acc, x_tile + quarter * 4, w_tile + lane, inputs - k);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float products[4];
    vstore4(acc, 0, products);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (first + i < rows && c < outputs) {
            float value = fma(scale, products[i], shift);
            y[y_offset + (size_t)(first + i) * y_stride + c] = (activates ? activate(value) : value) + added[i];
        }
    }
}
