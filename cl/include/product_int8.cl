/* Shared code of kernels that multiply by int8 weights. This file is included; it is not a program.
 *
 * W ≈ t w: w in -127 .. 127, one t per output. W is stored in panels of 32 outputs, zero beyond N, in
 * groups of four inputs: in panel p, at p * panel_bytes(K), w of (output n, input k) is byte ((k / 4) * 32
 * + n) * 4 + k % 4; after the ceil(K / 4) groups follow 32 floats t and 32 integers Σ w.
 *
 * An element of x Wᵀ is s t Σ q w, with x ≈ s q as in operand_int8.cl, and Σ q w = Σ u w - zero Σ w. The
 * sums are exact in every kernel, so that their order and the instructions do not matter. */
#include "include/operand_int8.cl"

#include "math/gemm/layout.h"
/* Products of pairs take many instructions per cache line, so the processor does not prefetch far enough by
 * itself. */
#if INT8_BYTES == CLF__INT8_PAIR
#define FETCH_AHEAD 4096
#endif
#include "include/steps.cl"
#ifdef HAS_TILES
#define TILE_PRODUCT "tdpbusd"
#include "include/tiles.cl"
#endif

static inline int groups_of(int inputs)
{
    return (inputs + 3) / 4;
}

static inline size_t panel_bytes(int inputs)
{
    return (size_t)groups_of(inputs) * (4 * PANEL) + CLF__INT8_TAIL;
}

/* Returns the address of t and Σ w of the 32 outputs of a panel. */
static inline const __global float *panel_scales(const __global char *panel, int inputs)
{
    return (const __global float *)(panel + (size_t)groups_of(inputs) * (4 * PANEL));
}

static inline const __global uint *panel_sums(const __global char *panel, int inputs)
{
    return (const __global uint *)(panel_scales(panel, inputs) + PANEL);
}

/* ---- GPU variant ---- */

#include "include/dot_word.cl"

/* ---- CPU variant: tile (ROWS, 32) = ROWS rows of x times one panel ---- */

/* Operands: rows of `pitch` bytes as quantize.cl writes them. */
#define ROW_SCALE(x, pitch, r) (*(const __global float *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-8))
#define ROW_ZERO(x, pitch, r)  (*(const __global uint *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-4))

/* The four inputs of a group, for the outputs of a vector. */
#define WORDS(g) load_intv(words + (size_t)(g)*PANEL + COLUMN)

#if INT8_BYTES == CLF__INT8_DOT
#define VALUE(r, g)            rows[r][g]
#define ADD_GROUP(ROWS, to, g) ADD_INPUT(ROWS, COUNT, to, DOT_INT8, intv, WORDS(g), intv, VALUE(r, g))
#define ADD_CHAINS(ROWS, i)                                                                                            \
    _Pragma("unroll") for (int chain = 0; chain < CHAINS(ROWS); chain++)                                               \
    {                                                                                                                  \
        ADD_GROUP(ROWS, sums[chain], (i)*CHAINS(ROWS) + chain)                                                         \
    }
#define ADD_GROUPS(ROWS)                                                                                               \
    FOR_STEPS(ROWS, COUNT, ADD_CHAINS, groups / CHAINS(ROWS), words, turn)                                             \
    for (int g = groups / CHAINS(ROWS) * CHAINS(ROWS); g < groups; g++) {                                              \
        ADD_GROUP(ROWS, sums[0], g)                                                                                    \
    }
#elif INT8_BYTES == CLF__INT8_PAIR
/* Inputs of a group are paired as 0 and 2, then 1 and 3, because w is widened by shifts. */
#define EVEN_PAIRS(words)   as_intv((__builtin_astype(words, shortv) << (short)8) >> (short)8)
#define ODD_PAIRS(words)    as_intv(__builtin_astype(words, shortv) >> (short)8)
#define VALUE(r, g, is_odd) rows[r][2 * (g) + (is_odd)]
#define ADD_PAIRS_OF(ROWS, g, even, odd)                                                                               \
    ADD_INPUT(ROWS, COUNT, sums[0], DOT_INT8, intv, even, intv, VALUE(r, g, 0))                                        \
    LOAD_AGAIN;                                                                                                        \
    ADD_INPUT(ROWS, COUNT, sums[0], DOT_INT8, intv, odd, intv, VALUE(r, g, 1))
#define ADD_PAIRS(ROWS, g) ADD_PAIRS_OF(ROWS, g, EVEN_PAIRS(WORDS(g)), ODD_PAIRS(WORDS(g)))
#define ADD_GROUPS(ROWS)   FOR_STEPS(ROWS, COUNT, ADD_PAIRS, groups, words, turn)

/* A panel is widened once if many blocks of rows use it, because the shifts take a tenth of the time of a
 * block. */
#define WIDE_INTS               (2 * PANEL * 512) /* for a panel of 2048 inputs: 128 KiB */
#define LEAST_WIDE_ROWS         (4 * BLOCK_ROWS)
#define WIDE_PAIRS(g, is_odd)   vloadv(0, panel.wide + (2 * (g) + (is_odd)) * PANEL + COLUMN)
#define ADD_WIDE_PAIRS(ROWS, g) ADD_PAIRS_OF(ROWS, g, WIDE_PAIRS(g, 0), WIDE_PAIRS(g, 1))
#define ADD_WIDE_GROUPS(ROWS)   FOR_STEPS(ROWS, COUNT, ADD_WIDE_PAIRS, groups, words, turn)
#else
/* After this many groups of four products, each at most 254 * 127, a sum is still below 2^24, where fp32
 * is exact. */
#define EXACT_GROUPS 128

/* w of input j of each group */
#define WEIGHTS(words, j) convert_floatv(((words) << (24 - 8 * (j))) >> 24)
#define VALUE(r, g, j)    as_float(rows[r][4 * (g) + (j)])
#define ADD_GROUPS(ROWS)                                                                                               \
    for (int first = 0; first < groups; first += EXACT_GROUPS) {                                                       \
        floatv parts[ROWS][COUNT];                                                                                     \
        FOR_SUMS(ROWS, COUNT, parts[r][v] = 0.0f)                                                                      \
        for (int g = first; g < min(groups, first + EXACT_GROUPS); g++) {                                              \
            _Pragma("unroll") for (int j = 0; j < 4; j++)                                                              \
            {                                                                                                          \
                ADD_INPUT(ROWS, COUNT, parts, MULTIPLY_FLOATS, floatv, WEIGHTS(WORDS(g), j), floatv, VALUE(r, g, j))   \
            }                                                                                                          \
        }                                                                                                              \
        FOR_SUMS(ROWS, COUNT, sums[0][r][v] += convert_intv(parts[r][v]))                                              \
    }
#endif

#ifndef WIDE_INTS
#define WIDE_INTS 1
#endif
#ifdef HAS_TILES
#define ROOM_INTS (MOST_TILED * PANEL)
#else
#define ROOM_INTS WIDE_INTS
#endif

/* A panel for blocks of rows. */
struct int8_panel {
    const __global char *weights;
    const int *wide; /* the same, widened, or 0 */
#ifdef HAS_TILES
    struct tiled tiled;
#endif
};

/* For `rows` rows; `room` has ROOM_INTS integers. reach_rows() precedes each block of rows, and
 * let_go_panel() comes at the end. */
static inline void hold_panel(struct int8_panel *panel, const __global char *weights, int groups, int rows, int *room)
{
    panel->weights = weights;
    panel->wide = 0;
#ifdef HAS_TILES
    begin_tiled(&panel->tiled, (uint *)room);
#endif
#if WIDE_INTS > 1
    if (rows >= LEAST_WIDE_ROWS && groups <= WIDE_INTS / (2 * PANEL)) {
        const __global int *words = (const __global int *)weights;
        for (int i = 0; i < groups * (PANEL / VECTOR_LANES); i++) {
            int g = i / (PANEL / VECTOR_LANES), at = g * (2 * PANEL) + i % (PANEL / VECTOR_LANES) * VECTOR_LANES;
            intv four = vloadv(i, words);
            vstorev(EVEN_PAIRS(four), 0, room + at);
            vstorev(ODD_PAIRS(four), 0, room + at + PANEL);
        }
        panel->wide = room;
    }
#endif
}

/* x: the block's first row, of `left` remaining rows. Without tiles, fewer rows than a tile are as fast. */
static inline void reach_rows(struct int8_panel *panel, const __global uchar *x, size_t pitch, int left, int groups)
{
#ifdef HAS_TILES
    const __global uchar *weights = (const __global uchar *)panel->weights;
    reach_tiled(&panel->tiled, x, pitch, left, weights, groups, TILE_ROWS);
#endif
}

static inline void let_go_panel(const struct int8_panel *panel)
{
#ifdef HAS_TILES
    end_tiled(&panel->tiled);
#endif
}

/* Independent chains of sums, because one chain would be limited by latency. */
#if INT8_BYTES != CLF__INT8_DOT || !defined(HAS_DOT_INT8)
#define CHAINS(ROWS) 1
#elif VECTOR_LANES == 16
#define CHAINS(ROWS) ((ROWS) <= 2 ? 4 : (ROWS) <= 4 ? 2 : 1)
#else
#define CHAINS(ROWS) ((ROWS) == 1 || (ROWS) == 3 ? 2 : 1)
#endif

/* A vector of a tile, from the sums of the row at x: `columns` is the tail of its panel from the vector
 * on. */
static inline void finish_sums(float *to, const intv *sums, const __global cpu_operand *x, size_t pitch,
                               const __global float *columns)
{
    intv sum = *sums;
#if INT8_BYTES == CLF__INT8_DOT
    sum = as_intv(as_uintv(sum) - ROW_ZERO(x, pitch, 0) * vloadv(0, (const __global uint *)(columns + PANEL)));
#endif
    vstorev(convert_floatv(sum) * (ROW_SCALE(x, pitch, 0) * vloadv(0, columns)), 0, to);
}

#define DEFINE_BLOCK_OF(NAME, ROWS, ADD)                                                                               \
    static inline void NAME(float16 *tile, const __global cpu_operand *x, size_t pitch, struct int8_panel panel,       \
                            int groups, struct turn turn)                                                              \
    {                                                                                                                  \
        const __global int *words = (const __global int *)panel.weights;                                               \
        const __global float *tail = (const __global float *)(panel.weights + (size_t)groups * (4 * PANEL));           \
        HOLD_ROWS(ROWS, int, rows, x, pitch)                                                                           \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(COUNT)                                                                                             \
        {                                                                                                              \
            intv sums[CHAINS(ROWS)][ROWS][COUNT];                                                                      \
            _Pragma("unroll") for (int chain = 0; chain < CHAINS(ROWS); chain++)                                       \
            {                                                                                                          \
                FOR_SUMS(ROWS, COUNT, sums[chain][r][v] = 0)                                                           \
            }                                                                                                          \
            ADD(ROWS)                                                                                                  \
            _Pragma("unroll") for (int chain = 1; chain < CHAINS(ROWS); chain++)                                       \
            {                                                                                                          \
                FOR_SUMS(ROWS, COUNT, sums[0][r][v] += sums[chain][r][v])                                              \
            }                                                                                                          \
            FOR_SUMS(ROWS, COUNT, finish_sums((float *)tile + r * PANEL + COLUMN, &sums[0][r][v],                      \
                                       (const __global cpu_operand *)((const __global uchar *)x + r * pitch), pitch,   \
                                       tail + COLUMN))                                                                 \
        }                                                                                                              \
    }
#define DEFINE_BLOCK(ROWS) DEFINE_BLOCK_OF(block_##ROWS, ROWS, ADD_GROUPS)
FOR_BLOCK_SIZES(DEFINE_BLOCK)
#if WIDE_INTS > 1
DEFINE_BLOCK_OF(block_wide, BLOCK_ROWS, ADD_WIDE_GROUPS)
#endif

#ifdef HAS_TILES
/* Finishes rows whose sums are complete. */
static inline void finish_block(float16 *tile, const __global cpu_operand *x, size_t pitch, int count, struct int8_panel panel,
                                int groups)
{
    const __global float *tail = (const __global float *)(panel.weights + (size_t)groups * (4 * PANEL));
    for (int r = 0; r < count; r++, x += pitch) {
#pragma unroll
        for (int c = 0; c < PANEL; c += VECTOR_LANES) {
            intv sums = as_intv(vloadv(0, panel.tiled.sums + r * PANEL + c));
            finish_sums((float *)tile + r * PANEL + c, &sums, x, pitch, tail + c);
        }
    }
}
#endif

/* tile (count, 32) = count <= BLOCK_ROWS rows of x times one panel. */
static inline void block_global(float16 *tile, const __global cpu_operand *x, size_t pitch, int count,
                                struct int8_panel panel, int groups, struct turn turn)
{
#if WIDE_INTS > 1
    if (panel.wide && count == BLOCK_ROWS) {
        block_wide(tile, x, pitch, panel, groups, turn);
        return;
    }
#endif
#ifdef HAS_TILES
    if (panel.tiled.sums) {
        finish_block(tile, x, pitch, count, panel, groups);
        return;
    }
#endif
    switch (count) {
#define TAKE_BLOCK(ROWS) case ROWS: block_##ROWS(tile, x, pitch, panel, groups, turn); break;
        FOR_BLOCK_SIZES(TAKE_BLOCK)
    }
}
