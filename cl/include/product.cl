/* Shared code of kernels that multiply by packed weights. Include file, not a program.
 *
 * W is stored in panels of 32 outputs, zero beyond N: element (n, k) is w[((n / 32) * K + k) * 32 + n %
 * 32]. In every kernel each element of x Wᵀ is one chain acc = fma(x[m, k], w[n, k], acc) over k = 0 ..
 * K-1 from acc = 0: its bits depend neither on the number of rows, nor on the position of the row, nor on
 * the instruction set level. For bf16 see product_bf16.cl.
 *
 * Needs PRECISION, a value of enum clf_precision: the storage of the weights. */
#ifndef PRECISION
#error "product.cl needs PRECISION"
#endif

#include "math/gemm/layout.h"
#include "include/steps.cl"

#if PRECISION == 0 || PRECISION == 1
typedef float operand_element; /* elements of x that the CPU variants read */
typedef floatv operandv;
typedef floatv weightv;
#define INPUTS_TOGETHER  1   /* inputs in an element of w */
#define MULTIPLY         MULTIPLY_FLOATS
#define ROUND_OPERAND(x) (x) /* GPU variants read floats */

typedef float4 weight4;

#if PRECISION == 0
typedef float weight_element;

#define load_weightv(w) load_floatv(w)

static inline weight4 load_weight4(const __global weight_element *w)
{
    return *(const __global float4 *)w;
}
#else
typedef half weight_element; /* converted when loaded: fp32 multiplications with rounded weights */

#define load_weightv(w) vload_halfv(0, w)

static inline weight4 load_weight4(const __global weight_element *w)
{
    return vload_half4(0, w);
}
#endif

/* Writes the weights of four outputs for one input to a tile of (inputs, pitch). */
static inline void store_weight4(__local float *tile, int pitch, weight4 w)
{
    *(__local float4 *)tile = w;
}

#if PRECISION == 1
#define STORED_APART /* the storage type differs from the type of the multiplications */

static inline floatv stored_input(const __global weight_element *w, int input)
{
    return load_weightv(w);
}
#endif
#elif PRECISION == 2
#include "include/product_bf16.cl"
#else
#error "no such PRECISION"
#endif

/* Returns the number of elements of w for one output of a panel. */
static inline int panel_depth(int inputs)
{
    return (inputs + INPUTS_TOGETHER - 1) / INPUTS_TOGETHER;
}

/* sums (ROWS, COUNT) += the products of all inputs of these rows and the panel's columns starting at c. */
#ifndef ADD_INPUTS
#define ADD_ELEMENT(ROWS, COUNT, sums, rows, weights, c, k)                                                            \
    ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY, weightv, load_weightv(weights + (size_t)(k)*PANEL + COLUMN(c, v)),    \
              operandv, rows[r][k])
#define ADD_INPUTS(ROWS, COUNT, sums, rows, panel, c, inputs, turn)                                                    \
    FOR_STEPS(ROWS, COUNT, c, k, panel_depth(inputs), panel.weights, turn,                                             \
              ADD_ELEMENT(ROWS, COUNT, sums, rows, panel.weights, c, k))
#endif

/* A panel stored in another precision is converted once if many blocks of rows use it, because on Intel
 * processors conversions and multiplications compete for the same ports. */
#ifdef STORED_APART
#define WIDE_FLOATS     (PANEL * CLF__WHOLE_INPUTS(VECTOR_LANES))
#define LEAST_WIDE_ROWS (4 * BLOCK_ROWS)
#define ADD_WIDE_ELEMENT(ROWS, COUNT, sums, rows, wide, c, k)                                                          \
    ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY_FLOATS, floatv, vloadv(0, wide + (k)*PANEL + COLUMN(c, v)), floatv,    \
              rows[r][k])
/* The prefetched panel takes two bytes per input and output in memory. */
#define ADD_WIDE_INPUTS(ROWS, COUNT, sums, rows, panel, c, inputs, turn)                                               \
    FOR_STEPS(ROWS, COUNT, c, k, inputs, (const __global ushort *)panel.weights, turn,                                 \
              ADD_WIDE_ELEMENT(ROWS, COUNT, sums, rows, panel.wide, c, k))
#else
#define WIDE_FLOATS 1
#endif

#if PRECISION == 2 && defined(HAS_TILES)
#define TILES_OF_PAIRS
#define TILE_PRODUCT "tdpbf16ps"
#include "include/tiles.cl"
#define ROOM_FLOATS (MOST_TILED * PANEL)
#else
#define ROOM_FLOATS WIDE_FLOATS
#endif

/* A panel, or a slice of a panel, for blocks of rows. */
struct panel {
    const __global weight_element *weights;
    const float *wide; /* the same, (K, 32) in fp32, or 0 */
#ifdef TILES_OF_PAIRS
    struct tiled tiled;
#endif
};

/* Prepares a panel for `rows` rows; `room` has ROOM_FLOATS floats. Call reach_rows() before each block of rows,
 * and let_go_panel() at the end. */
static inline void hold_panel(struct panel *panel, const __global weight_element *weights, int inputs, int rows, float *room)
{
    panel->weights = weights;
    panel->wide = 0;
#ifdef TILES_OF_PAIRS
    begin_tiled(&panel->tiled, (uint *)room);
#endif
#ifdef STORED_APART
    if (rows >= LEAST_WIDE_ROWS && inputs <= WIDE_FLOATS / PANEL) {
        for (int k = 0; k < inputs; k++) {
            const __global weight_element *from = weights + (size_t)(k / INPUTS_TOGETHER) * PANEL;
            _Pragma("unroll") for (int c = 0; c < PANEL; c += VECTOR_LANES)
            {
                vstorev(stored_input(from + c, k), 0, room + k * PANEL + c);
            }
        }
        panel->wide = room;
    }
#endif
}

/* x: the block's first row, of `left` remaining rows. Tiles are used for all rows, so all have the same bits. */
static inline void reach_rows(struct panel *panel, const __global uchar *x, size_t pitch, int left, int inputs)
{
#ifdef TILES_OF_PAIRS
    const __global uchar *weights = (const __global uchar *)panel->weights;
    reach_tiled(&panel->tiled, x, pitch, left, weights, panel_depth(inputs), 1);
#endif
}

static inline void let_go_panel(const struct panel *panel)
{
#ifdef TILES_OF_PAIRS
    end_tiled(&panel->tiled);
#endif
}

/* tile (ROWS, 32) = ROWS rows of x times one panel of K inputs; with `adds`, += the product with a slice of a
 * panel. ADD: ADD_INPUTS or ADD_WIDE_INPUTS. */
#define DEFINE_BLOCK_OF(NAME, ROWS, ADD)                                                                               \
    static inline void NAME(float16 *tile, const __global operand_element *x, size_t x_stride, struct panel panel,     \
                            int inputs, int adds, struct turn turn)                                                    \
    {                                                                                                                  \
        HOLD_ROWS(ROWS, operand_element, rows, x, x_stride * sizeof *x)                                                \
        enum { COUNT = BLOCK_VECTORS(ROWS) };                                                                          \
        FOR_COLUMNS(c, COUNT)                                                                                          \
        {                                                                                                              \
            floatv sums[ROWS][COUNT];                                                                                  \
            FOR_SUMS(r, ROWS, v, COUNT, sums[r][v] = 0.0f)                                                             \
            if (adds) {                                                                                                \
                FOR_SUMS(r, ROWS, v, COUNT, sums[r][v] = vloadv(0, (const float *)tile + r * PANEL + COLUMN(c, v)))    \
            }                                                                                                          \
            ADD(ROWS, COUNT, sums, rows, panel, c, inputs, turn)                                                       \
            FOR_SUMS(r, ROWS, v, COUNT, vstorev(sums[r][v], 0, (float *)tile + r * PANEL + COLUMN(c, v)))              \
        }                                                                                                              \
    }
#define DEFINE_BLOCK(ROWS, ADD) DEFINE_BLOCK_OF(block_##ROWS, ROWS, ADD)
FOR_BLOCK_SIZES(DEFINE_BLOCK, ADD_INPUTS)
#ifdef STORED_APART
DEFINE_BLOCK_OF(block_wide, BLOCK_ROWS, ADD_WIDE_INPUTS)
#endif

/* tile (count, 32) = count <= BLOCK_ROWS rows of x times one panel; with `adds`, += the product with a slice of a
 * panel (never with tiles). */
static inline void block(float16 *tile, const __global operand_element *x, size_t x_stride, int count, struct panel panel,
                         int inputs, int adds, struct turn turn)
{
#ifdef TILES_OF_PAIRS
    for (int i = 0; i < count * (PANEL / VECTOR_LANES); i++) {
        vstorev(as_floatv(vloadv(i, panel.tiled.sums)), i, (float *)tile);
    }
#else
#ifdef STORED_APART
    if (panel.wide && count == BLOCK_ROWS) {
        block_wide(tile, x, x_stride, panel, inputs, adds, turn);
        return;
    }
#endif
    CALL_BLOCK(count, (tile, x, x_stride, panel, inputs, adds, turn))
#endif
}
