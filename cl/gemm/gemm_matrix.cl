/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual by matrix instructions, in tiles.
 *
 * x has rows of x_pitch words of 16 bytes from word x_offset on; K is padded with zeros to whole slices. W has panels of 32
 * outputs, padded with zeros: word i of the inputs of output n of a panel is word i * 32 + n. In int8 a panel ends with the scales
 * and sums of product_int8.cl. residual may be y. activation is a value of enum clf__activation. y is fp32, or with is_rounded the
 * precision of W.
 *
 * A sum is a chain over K within each chunk of CHUNK_SLICES slices, then a chain over the chunks, so that its bits depend neither
 * on the tile nor on the number of rows.
 *
 * Needs PRECISION, and TILE_ROWS, TILE_COLUMNS, WARP_ROWS and WARP_COLUMNS, the tiles of a group and of a warp. */
#include "include/matrix.cl"
#define B_TILES (WARP_COLUMNS / MATRIX_COLUMNS)
#include "include/matrix_result.cl"

#define ROW_WARPS   (TILE_ROWS / WARP_ROWS)
#define ITEMS       (MATRIX_LANES * ROW_WARPS * (TILE_COLUMNS / WARP_COLUMNS))
#define STAGES      3
#define STAGE_WORDS ((TILE_ROWS + TILE_COLUMNS) * SLICE_WORDS)
#define A_COPIES    (TILE_ROWS * SLICE_WORDS / ITEMS)
#define B_COPIES    (TILE_COLUMNS * SLICE_WORDS / ITEMS)
#define A_TILES     (WARP_ROWS / MATRIX_ROWS)

/* Runs the statements for each tile of the instructions in the warp's tile. */
#define FOR_TILES(statements)                                                                                          \
    _Pragma("unroll") for (int i = 0; i < A_TILES; i++)                                                                \
    {                                                                                                                  \
        _Pragma("unroll") for (int j = 0; j < B_TILES; j++)                                                            \
        {                                                                                                              \
            statements;                                                                                                \
        }                                                                                                              \
    }

/* The words of slice 0 that a work-item copies; those of other slices follow at a fixed distance. */
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

/* sums of the warp's tile += the products of a slice. */
static inline void multiply_stage(matrix_sum (*sums)[B_TILES][MATRIX_SUMS], const __local uint4 *stage)
{
    uint4 a[A_WORDS], b[B_TILES][B_WORDS];
#pragma unroll
    for (int j = 0; j < B_TILES; j++) {
        load_b_tile(b[j], stage + TILE_ROWS * SLICE_WORDS, TILE_COLUMNS,
                    WARP / ROW_WARPS * WARP_COLUMNS + j * MATRIX_COLUMNS);
    }
#pragma unroll
    for (int i = 0; i < A_TILES; i++) {
        load_a_tile(a, stage, TILE_ROWS, WARP % ROW_WARPS * WARP_ROWS + i * MATRIX_ROWS);
#pragma unroll
        for (int j = 0; j < B_TILES; j++) {
            multiply_slice(sums[i][j], a, b[j]);
        }
    }
}

/* The tile of a group. Groups take bands of eight rows of tiles, so that groups that run at the same time read the same rows. */
static inline int2 place_tile(int rows, int outputs)
{
    enum { TOGETHER = 8 };
    int row_tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, column_tiles = (outputs + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int group = (int)get_group_id(0), band = group / (TOGETHER * column_tiles) * TOGETHER;
    int height = min(row_tiles - band, TOGETHER), inside = group % (TOGETHER * column_tiles);
    return (int2)((band + inside % height) * TILE_ROWS, inside / height * TILE_COLUMNS);
}

GPU_KERNEL_OF(ITEMS) void gemm_matrix_gpu(MATRIX_ARGUMENTS)
{
    __local uint4 stages[STAGES][STAGE_WORDS];
    const struct matrix_result result = MATRIX_RESULT;
    int2 place = place_tile(rows, outputs);
    int slices = result.slices;
    struct copies copies;
    begin_copies(&copies, &result, place.x, place.y);
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < slices) {
            copy_slice(stages[s], &copies, s);
        }
        COPIES_END;
    }
    matrix_sum sums[A_TILES][B_TILES][MATRIX_SUMS], totals[A_TILES][B_TILES][MATRIX_SUMS];
    FOR_TILES(clear_sums(sums[i][j]); clear_sums(totals[i][j]))
    int stage = 0, free_stage = STAGES - 1;
    for (int s = 0; s < slices; s++) {
        WAIT_FOR_COPIES(1); /* STAGES - 2 */
        barrier(CLK_LOCAL_MEM_FENCE);
        if (s + STAGES - 1 < slices) {
            copy_slice(stages[free_stage], &copies, s + STAGES - 1);
        }
        COPIES_END;
        multiply_stage(sums, stages[stage]);
        if ((s + 1) % CHUNK_SLICES == 0) {
            FOR_TILES(end_chunk(totals[i][j], sums[i][j]))
        }
        free_stage = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    if (slices % CHUNK_SLICES != 0) {
        FOR_TILES(end_chunk(totals[i][j], sums[i][j]))
    }
    /* Not unrolled: the code would exceed what compilers unroll, and the sums would move to memory. */
#pragma unroll 1
    for (int t = 0; t < A_TILES; t++) {
        finish_tiles(totals[0], place.x + WARP % ROW_WARPS * WARP_ROWS + t * MATRIX_ROWS,
                     place.y + WARP / ROW_WARPS * WARP_COLUMNS, &result);
        FOR_TILES(copy_sums(totals[i][j], totals[min(i + 1, A_TILES - 1)][j]))
    }
}
