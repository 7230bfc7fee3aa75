/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual with matrix instructions, in tiles.
 *
 * x has rows of x_pitch 16-byte words, starting at word x_offset; K is padded with zeros to whole slices. W has
 * panels of 32 outputs, padded with zeros: word i of the inputs of output n of a panel is word i * 32 + n. In int8 a
 * panel ends with the scales and sums of product_int8.cl. residual may be y. activation is a value of enum
 * clf__activation. y is in fp32, or with is_rounded in the precision of W.
 *
 * A sum is a chain over K within each chunk of CHUNK_SLICES slices, then a chain over the chunks. Its bits depend
 * neither on the tile nor on the number of rows.
 *
 * Needs PRECISION, and TILE_ROWS, TILE_COLUMNS, WARP_ROWS and WARP_COLUMNS, the tiles of a group and of a warp.
 * HAS_ONE_CHUNK: K has at most one chunk, or the sums are exact. Y_IN_PANELS: see matrix_result.cl. */
#include "include/matrix.cl"
#define WARP_B_TILES (WARP_COLUMNS / MATRIX_COLUMNS)
#define B_TILES      (WARP_B_TILES < 4 ? WARP_B_TILES : 4) /* tiles that are finished together */
#include "include/matrix_result.cl"

#define ROW_WARPS   (TILE_ROWS / WARP_ROWS)
#define ITEMS       (MATRIX_LANES * ROW_WARPS * (TILE_COLUMNS / WARP_COLUMNS))
#define STAGES      3
#define STAGE_WORDS ((TILE_ROWS + TILE_COLUMNS) * SLICE_WORDS)
#define A_COPIES    (TILE_ROWS * SLICE_WORDS / ITEMS)
#define B_COPIES    (TILE_COLUMNS * SLICE_WORDS / ITEMS)
#define A_TILES     (WARP_ROWS / MATRIX_ROWS)

/* Runs the statement for each instruction tile in the warp's tile: row i and column j of tiles. */
#define FOR_TILES(i, j, statement)                                                                                     \
    _Pragma("unroll") for (int i = 0; i < A_TILES; i++)                                                                \
    {                                                                                                                  \
        _Pragma("unroll") for (int j = 0; j < WARP_B_TILES; j++)                                                       \
        {                                                                                                              \
            statement;                                                                                                 \
        }                                                                                                              \
    }

/* The words of slice 0 that a work-item copies; the words of other slices are at fixed distances from
 * these. */
struct copies {
    const __global uint4 *a[A_COPIES], *b[B_COPIES];
};

static inline void begin_copies(struct copies *copies, const struct matrix_result *result, int row, int column)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < A_COPIES; i++) {
        int word = item + i * ITEMS, r = min(row + word / SLICE_WORDS, result->rows - 1);
        copies->a[i] = result->x + (size_t)r * result->x_pitch + word % SLICE_WORDS;
    }
    int last = (result->outputs - 1) / PANEL;
#pragma unroll
    for (int i = 0; i < B_COPIES; i++) {
        int word = item + i * ITEMS, c = column + word % TILE_COLUMNS;
        copies->b[i] =
            result->w + min(c / PANEL, last) * panel_words(result->slices) + word / TILE_COLUMNS * PANEL + c % PANEL;
    }
}

static inline void copy_slice(__local uint4 *stage, const struct copies *copies, int slice)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < A_COPIES; i++) {
        int word = item + i * ITEMS;
        COPY_WORD(stage + TILE_PLACE(TILE_ROWS, word / SLICE_WORDS, word % SLICE_WORDS),
                  copies->a[i] + (size_t)slice * SLICE_WORDS);
    }
    stage += TILE_ROWS * SLICE_WORDS;
#pragma unroll
    for (int i = 0; i < B_COPIES; i++) {
        int word = item + i * ITEMS;
        COPY_WORD(stage + TILE_PLACE(TILE_COLUMNS, word % TILE_COLUMNS, word / TILE_COLUMNS),
                  copies->b[i] + (size_t)slice * (SLICE_WORDS * PANEL));
    }
}

/* The fragments of a step in the warp's tile. */
struct fragments {
    uint4 a[A_TILES][A_STEP_WORDS], b[B_STEP_WORDS(WARP_B_TILES)];
};

static inline void load_fragments(struct fragments *fragments, const __local uint4 *stage, int step)
{
#pragma unroll
    for (int i = 0; i < A_TILES; i++) {
        load_a_step(fragments->a[i], stage, TILE_ROWS, WARP % ROW_WARPS * WARP_ROWS + i * MATRIX_ROWS, step);
    }
    load_b_step(fragments->b, WARP_B_TILES, stage + TILE_ROWS * SLICE_WORDS, TILE_COLUMNS, WARP / ROW_WARPS * WARP_COLUMNS, step);
}

/* Stores the warp's tile. Each row of tiles is moved to the registers of the first row in turn: compilers would
 * not unroll that much code, and would move the sums to memory. */
static inline void finish_warp(const struct matrix_result *result, int2 place,
                               matrix_sum (*sums)[WARP_B_TILES][MATRIX_SUMS])
{
    int row = place.x + WARP % ROW_WARPS * WARP_ROWS, column = place.y + WARP / ROW_WARPS * WARP_COLUMNS;
#pragma unroll 1
    for (int t = 0; t < A_TILES * WARP_B_TILES / B_TILES; t++) {
        int first = t % (WARP_B_TILES / B_TILES) * B_TILES;
        finish_tiles(sums[0], row + t / (WARP_B_TILES / B_TILES) * MATRIX_ROWS, column + first * MATRIX_COLUMNS, result);
        FOR_TILES(i, j, copy_sums(sums[i][j], j + B_TILES < WARP_B_TILES
                                                  ? sums[i][j + B_TILES]
                                                  : sums[min(i + 1, A_TILES - 1)][j + B_TILES - WARP_B_TILES]))
    }
}

/* Returns the tile of a group. Groups are ordered in bands of eight rows of tiles, which makes concurrent groups
 * read the same rows. */
static inline int2 place_tile(int rows, int outputs)
{
    enum { TOGETHER = 8 };
    int row_tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, column_tiles = (outputs + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int group = (int)get_group_id(0), band = group / (TOGETHER * column_tiles) * TOGETHER;
    int height = min(row_tiles - band, TOGETHER), inside = group % (TOGETHER * column_tiles);
    return (int2)((band + inside % height) * TILE_ROWS, inside / height * TILE_COLUMNS);
}

/* The pipeline of a group: slice s is in stage s % STAGES. */
struct pipeline {
    struct copies copies;
    int slices, slice, stage;
};

static inline void begin_pipeline(struct pipeline *at, __local uint4 (*stages)[STAGE_WORDS],
                                  const struct matrix_result *result, int2 place)
{
    begin_copies(&at->copies, result, place.x, place.y);
    at->slices = result->slices;
    at->slice = at->stage = 0;
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        if (s < at->slices) {
            copy_slice(stages[s], &at->copies, s);
        }
        COPIES_END;
    }
    WAIT_FOR_COPIES(2); /* STAGES - 1 */
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Waits until all warps have read the stage of the slice and the next slice has arrived. */
static inline void end_stage(struct pipeline *at, __local uint4 (*stages)[STAGE_WORDS])
{
    WAIT_FOR_COPIES(1); /* STAGES - 2 */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at->slice + STAGES < at->slices) {
        copy_slice(stages[at->stage], &at->copies, at->slice + STAGES);
    }
    COPIES_END;
    at->slice++;
    at->stage = at->stage + 1 == STAGES ? 0 : at->stage + 1;
}

GPU_KERNEL_OF(ITEMS) void gemm_matrix_gpu(MATRIX_ARGUMENTS)
{
    __local uint4 stages[STAGES][STAGE_WORDS];
    const struct matrix_result result = result_of(MATRIX_NAMES);
    int2 place = place_tile(rows, outputs);
    struct pipeline at;
    begin_pipeline(&at, stages, &result, place);
    matrix_sum sums[A_TILES][WARP_B_TILES][MATRIX_SUMS];
    FOR_TILES(i, j, clear_sums(sums[i][j]))
#ifndef HAS_ONE_CHUNK
    matrix_sum totals[A_TILES][WARP_B_TILES][MATRIX_SUMS];
    FOR_TILES(i, j, clear_sums(totals[i][j]))
#endif
    /* The fragments of a step are loaded while the previous step is multiplied. */
    struct fragments fragments[SLICE_STEPS];
    load_fragments(&fragments[0], stages[0], 0);
    for (int slice = 0; slice < at.slices;) {
#ifdef HAS_ONE_CHUNK
        int end = at.slices;
#else
        int end = min(slice + CHUNK_SLICES, at.slices);
#endif
        for (; slice < end; slice++) {
#pragma unroll
            for (int step = 0; step < SLICE_STEPS; step++) {
                if (step + 1 < SLICE_STEPS) {
                    load_fragments(&fragments[step + 1], stages[at.stage], step + 1);
                } else {
                    end_stage(&at, stages);
#if SLICE_STEPS > 1
                    load_fragments(&fragments[0], stages[at.stage], 0); /* not used after the last slice */
#endif
                }
                FOR_TILES(i, j, multiply_step(sums[i][j], fragments[step].a[i], fragments[step].b, j))
            }
#if SLICE_STEPS == 1
            load_fragments(&fragments[0], stages[at.stage], 0);
#endif
        }
#ifndef HAS_ONE_CHUNK
        FOR_TILES(i, j, end_chunk(totals[i][j], sums[i][j]))
#endif
    }
#ifdef HAS_ONE_CHUNK
    finish_warp(&result, place, sums); /* the sums of the only chunk are the totals */
#else
    finish_warp(&result, place, totals);
#endif
}
