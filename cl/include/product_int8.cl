/* Shared code of kernels that multiply by int8 weights. Include file, not a program.
 *
 * W ≈ t w: w in -127 .. 127, one t per output. W is stored in panels of 32 outputs, zero beyond N, in groups of four
 * inputs: in panel p, at p * panel_bytes(K), w of (output n, input k) is byte ((k / 4) * 32 + n) * 4 + k % 4; the
 * ceil(K / 4) groups are followed by 32 floats t and 32 integers Σ w.
 *
 * An element of x Wᵀ is s t Σ q w, with x ≈ s q as in operand_int8.cl, and Σ q w = Σ u w - zero Σ w. The sums are
 * exact in every kernel, so their order and the instructions do not matter. */
#include "include/operand_int8.cl"

#include "math/gemm/layout.h"
/* Products of pairs take many instructions per cache line, so the hardware does not prefetch far enough. */
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

/* ---- CPU variant ---- */

/* Operands: rows of `pitch` bytes as quantize.cl writes them. */
#define ROW_SCALE(x, pitch, r) (*(const __global float *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-8))
#define ROW_ZERO(x, pitch, r)  (*(const __global uint *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-4))

/* The four inputs of group g in each word, for the outputs of a vector starting at `column`. */
#define PANEL_WORDS(panel)      ((const __global int *)panel.weights)
#define WORDS(panel, g, column) load_intv(PANEL_WORDS(panel) + (size_t)(g)*PANEL + (column))

/* ADD_GROUPS: sums[0] (ROWS, COUNT), and with DOT_INT8 also the sums of other chains, += the products of all
 * groups of these rows and the panel's columns starting at c. */
#if INT8_BYTES == CLF__INT8_DOT
#define ADD_GROUP(ROWS, COUNT, sums, rows, panel, c, g)                                                                \
    ADD_INPUT(r, ROWS, v, COUNT, sums, DOT_INT8, intv, WORDS(panel, g, COLUMN(c, v)), intv, rows[r][g])
#define ADD_CHAINS(ROWS, COUNT, sums, rows, panel, c, i)                                                               \
    _Pragma("unroll") for (int chain = 0; chain < CHAINS(ROWS); chain++)                                               \
    {                                                                                                                  \
        ADD_GROUP(ROWS, COUNT, sums[chain], rows, panel, c, (i)*CHAINS(ROWS) + chain)                                  \
    }
#define ADD_GROUPS(ROWS, COUNT, sums, rows, panel, c, groups, turn)                                                    \
    FOR_STEPS(ROWS, COUNT, c, i, groups / CHAINS(ROWS), PANEL_WORDS(panel), turn,                                      \
              ADD_CHAINS(ROWS, COUNT, sums, rows, panel, c, i))                                                        \
    for (int g = groups / CHAINS(ROWS) * CHAINS(ROWS); g < groups; g++) {                                              \
        ADD_GROUP(ROWS, COUNT, sums[0], rows, panel, c, g)                                                             \
    }
#elif INT8_BYTES == CLF__INT8_PAIR
/* Inputs of a group are paired as 0 and 2, then 1 and 3, because w is widened by shifts. */
#define EVEN_PAIRS(words) as_intv((__builtin_astype(words, shortv) << (short)8) >> (short)8)
#define ODD_PAIRS(words)  as_intv(__builtin_astype(words, shortv) >> (short)8)
#define ADD_PAIRS_OF(ROWS, v, COUNT, sums, rows, g, even, odd)                                                         \
    ADD_INPUT(r, ROWS, v, COUNT, sums, DOT_INT8, intv, even, intv, rows[r][2 * (g)])                                   \
    LOAD_AGAIN;                                                                                                        \
    ADD_INPUT(r, ROWS, v, COUNT, sums, DOT_INT8, intv, odd, intv, rows[r][2 * (g) + 1])
#define ADD_PAIRS(ROWS, COUNT, sums, rows, panel, c, g)                                                                \
    ADD_PAIRS_OF(ROWS, v, COUNT, sums, rows, g, EVEN_PAIRS(WORDS(panel, g, COLUMN(c, v))),                             \
                 ODD_PAIRS(WORDS(panel, g, COLUMN(c, v))))
#define ADD_GROUPS(ROWS, COUNT, sums, rows, panel, c, groups, turn)                                                    \
    FOR_STEPS(ROWS, COUNT, c, g, groups, PANEL_WORDS(panel), turn, ADD_PAIRS(ROWS, COUNT, sums[0], rows, panel, c, g))

/* A panel is widened once if many blocks of rows use it, because the shifts take noticeable time. */
#define WIDE_INTS       (2 * PANEL * 512) /* for a panel of 2048 inputs: 128 KiB */
#define LEAST_WIDE_ROWS (4 * BLOCK_ROWS)
#define WIDE_PAIRS(wide, g, is_odd, column) vloadv(0, wide + (2 * (g) + (is_odd)) * PANEL + (column))
#define ADD_WIDE_PAIRS(ROWS, COUNT, sums, rows, wide, c, g)                                                            \
    ADD_PAIRS_OF(ROWS, v, COUNT, sums, rows, g, WIDE_PAIRS(wide, g, 0, COLUMN(c, v)), WIDE_PAIRS(wide, g, 1, COLUMN(c, v)))
#define ADD_WIDE_GROUPS(ROWS, COUNT, sums, rows, panel, c, groups, turn)                                               \
    FOR_STEPS(ROWS, COUNT, c, g, groups, PANEL_WORDS(panel), turn,                                                     \
              ADD_WIDE_PAIRS(ROWS, COUNT, sums[0], rows, panel.wide, c, g))
#else
/* After this many groups of four products, each at most 254 * 127, a sum is still below 2^24, where fp32
 * is exact. */
#define EXACT_GROUPS 128

/* w of input j of each group */
#define WEIGHTS(words, j) convert_floatv(((words) << (24 - 8 * (j))) >> 24)
#define ADD_GROUPS(ROWS, COUNT, sums, rows, panel, c, groups, turn)                                                    \
    for (int first = 0; first < groups; first += EXACT_GROUPS) {                                                       \
        floatv parts[ROWS][COUNT];                                                                                     \
        FOR_SUMS(r, ROWS, v, COUNT, parts[r][v] = 0.0f)                                                                \
        for (int g = first; g < min(groups, first + EXACT_GROUPS); g++) {                                              \
            _Pragma("unroll") for (int j = 0; j < 4; j++)                                                              \
            {                                                                                                          \
                ADD_INPUT(r, ROWS, v, COUNT, parts, MULTIPLY_FLOATS, floatv,                                           \
                          WEIGHTS(WORDS(panel, g, COLUMN(c, v)), j), floatv, as_float(rows[r][4 * g + j]))             \
            }                                                                                                          \
        }                                                                                                              \
        FOR_SUMS(r, ROWS, v, COUNT, sums[0][r][v] += convert_intv(parts[r][v]))                                        \
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

/* Prepares a panel for `rows` rows; `room` has ROOM_INTS integers. Call reach_rows() before each block of rows,
 * and let_go_panel() at the end. */
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

/* Number of independent chains of sums, because one chain would be limited by latency. */
#if INT8_BYTES != CLF__INT8_DOT || !defined(HAS_DOT_INT8)
#define CHAINS(ROWS) 1
#elif VECTOR_LANES == 16
#define CHAINS(ROWS) ((ROWS) <= 2 ? 4 : (ROWS) <= 4 ? 2 : 1)
#else
#define CHAINS(ROWS) ((ROWS) == 1 || (ROWS) == 3 ? 2 : 1)
#endif

/* Computes a vector of a tile from the sums of the row at x; `columns` is the tail of its panel, starting at the
 * vector. */
static inline void finish_sums(float *to, const intv *sums, const __global cpu_operand *x, size_t pitch,
                               const __global float *columns)
{
    intv sum = *sums;
#if INT8_BYTES == CLF__INT8_DOT
    sum = as_intv(as_uintv(sum) - ROW_ZERO(x, pitch, 0) * vloadv(0, (const __global uint *)(columns + PANEL)));
#endif
    vstorev(convert_floatv(sum) * (ROW_SCALE(x, pitch, 0) * vloadv(0, columns)), 0, to);
}

/* tile (ROWS, 32) = ROWS rows of x times one panel. ADD: ADD_GROUPS or ADD_WIDE_GROUPS. */
#define DEFINE_BLOCK_OF(NAME, ROWS, ADD)                                                                               \
    static inline void NAME(float16 *tile, const __global cpu_operand *x, size_t pitch, struct int8_panel panel,       \
                            int groups, struct turn turn)                                                              \
    {                                                                                                                  \
        const __global float *tail = (const __global float *)(panel.weights + (size_t)groups * (4 * PANEL));           \
        HOLD_ROWS(ROWS, int, rows, x, pitch)                                                                           \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(c, COUNT)                                                                                          \
        {                                                                                                              \
            intv sums[CHAINS(ROWS)][ROWS][COUNT];                                                                      \
            _Pragma("unroll") for (int chain = 0; chain < CHAINS(ROWS); chain++)                                       \
            {                                                                                                          \
                FOR_SUMS(r, ROWS, v, COUNT, sums[chain][r][v] = 0)                                                     \
            }                                                                                                          \
            ADD(ROWS, COUNT, sums, rows, panel, c, groups, turn)                                                       \
            _Pragma("unroll") for (int chain = 1; chain < CHAINS(ROWS); chain++)                                       \
            {                                                                                                          \
                FOR_SUMS(r, ROWS, v, COUNT, sums[0][r][v] += sums[chain][r][v])                                        \
            }                                                                                                          \
            FOR_SUMS(r, ROWS, v, COUNT,                                                                                \
                     finish_sums((float *)tile + r * PANEL + COLUMN(c, v), &sums[0][r][v],                             \
                                 (const __global cpu_operand *)((const __global uchar *)x + r * pitch), pitch,         \
                                 tail + COLUMN(c, v)))                                                                 \
        }                                                                                                              \
    }
#define DEFINE_BLOCK(ROWS, ADD) DEFINE_BLOCK_OF(block_##ROWS, ROWS, ADD)
FOR_BLOCK_SIZES(DEFINE_BLOCK, ADD_GROUPS)
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
    CALL_BLOCK(count, (tile, x, pitch, panel, groups, turn))
}
