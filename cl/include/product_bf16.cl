/* The part of product.cl for weights in bf16. Included by product.cl; not a program.
 *
 * Inputs are paired, zero beyond K: the low half of a uint is input 2p, the high half input 2p + 1. Pair p
 * of output n is w[((n / 32) * P + p) * 32 + n % 32], P = ceil(K / 2).
 *
 * CPU variants at a level with bf16 dot products: round_bf16.cl rounds the rows of x to pairs. Every element of x Wᵀ
 * is one chain over p = 0 .. P-1 of acc = fma(high x, high w, acc) and then acc = fma(low x, low w, acc): the order
 * of the instruction vdpbf16ps (DOT_BF16), which flushes numbers below 2^-126 to zero.
 *
 * Levels with tiles use the order described in tiles.cl.
 *
 * CPU variants at other levels only store weights in bf16. x is not rounded, and the products and their order are the
 * same as in fp32.
 *
 * GPU variants round the elements of x when they load them and keep the order of fp32. */
#include "include/bf16.cl"

typedef uint weight_element; /* a pair of inputs */
typedef uint4 weight4;
#define INPUTS_TOGETHER  2
#define ROUND_OPERAND(x) as_float(round_bf16(x))

#ifdef HAS_DOT_BF16
typedef uint operand_element;
typedef uintv operandv;
typedef uintv weightv;
#define MULTIPLY DOT_BF16
#define load_weightv(w) vloadv(0, w)
#else
typedef float operand_element;

#define LOW_BF16(pairs)  as_floatv((pairs) << 16)
#define HIGH_BF16(pairs) as_floatv((pairs)&0xffff0000u)
#define ADD_HALF(ROWS, COUNT, sums, rows, HALF, weights, c, k)                                                         \
    ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY_FLOATS, floatv,                                                        \
              HALF(vloadv(0, weights + (size_t)((k) / 2) * PANEL + COLUMN(c, v))), floatv, rows[r][k])
#define ADD_PAIR(ROWS, COUNT, sums, rows, weights, c, p)                                                               \
    ADD_HALF(ROWS, COUNT, sums, rows, LOW_BF16, weights, c, 2 * (p))                                                   \
    LOAD_AGAIN;                                                                                                        \
    ADD_HALF(ROWS, COUNT, sums, rows, HIGH_BF16, weights, c, 2 * (p) + 1)
#define ADD_INPUTS(ROWS, COUNT, sums, rows, panel, c, inputs, turn)                                                    \
    FOR_STEPS(ROWS, COUNT, c, p, (inputs) / 2, panel.weights, turn,                                                    \
              ADD_PAIR(ROWS, COUNT, sums, rows, panel.weights, c, p))                                                  \
    if ((inputs) % 2) {                                                                                                \
        ADD_HALF(ROWS, COUNT, sums, rows, LOW_BF16, panel.weights, c, inputs - 1)                                      \
    }

#define STORED_APART /* the storage type differs from the type of the multiplications */

static inline floatv stored_input(const __global weight_element *w, int input)
{
    uintv pairs = vloadv(0, w);
    return input % 2 ? HIGH_BF16(pairs) : LOW_BF16(pairs);
}
#endif

static inline weight4 load_weight4(const __global weight_element *w)
{
    return *(const __global uint4 *)w;
}

/* Writes the weights of four outputs for two inputs to a tile of (inputs, pitch). */
static inline void store_weight4(__local float *tile, int pitch, weight4 w)
{
    *(__local float4 *)tile = as_float4(w << 16);
    *(__local float4 *)(tile + pitch) = as_float4(w & 0xffff0000u);
}
