/* product.cl for weights in bf16: included by it, never built alone.
 *
 * Inputs go in pairs, zero beyond K: the low half of a uint is input 2p, the high half input 2p + 1. Pair p of output n
 * is w[((n / 32) * P + p) * 32 + n % 32], P = ceil(K / 2). The rows of x are rounded to bf16 too: those of CPU forms
 * come as pairs from round_bf16.cl, GPU forms round what they load.
 *
 * CPU forms: every element of x Wᵀ is one chain over p = 0 .. P-1 of acc = fma(high x, high w, acc) and then
 * acc = fma(low x, low w, acc). That is the order of the instruction vdpbf16ps (DOT_BF16), which takes numbers below
 * 2^-126 for zero; otherwise its bits are those of the portable level. GPU forms: one chain over k = 0 .. K-1. */
#include "include/bf16.cl"

typedef uint weight_element; /* a pair */
typedef uint operand_element;
typedef uint16 weight16;
typedef uint16 operand16;
typedef uint4 weight4;
#define INPUTS_TOGETHER  2
#define ROUND_OPERAND(x) as_float(round_bf16(x))

#if defined(HAS_DOT_BF16)
#define MULTIPLY DOT_BF16
#else
#define LOW_BF16(pair)  as_float16((pair) << 16)
#define HIGH_BF16(pair) as_float16((pair)&0xffff0000u)
#define MULTIPLY(acc, x, w) acc = fma16(LOW_BF16(x), LOW_BF16(w), fma16(HIGH_BF16(x), HIGH_BF16(w), acc))
#endif

#define load_weight16(w) vload16(0, w)

static inline weight4 load_weight4(const __global weight_element *w)
{
    return *(const __global uint4 *)w;
}

/* Four outputs' weights of two inputs to a tile of (inputs, pitch). */
static inline void store_weight4(__local float *tile, int pitch, weight4 w)
{
    *(__local float4 *)tile = as_float4(w << 16);
    *(__local float4 *)(tile + pitch) = as_float4(w & 0xffff0000u);
}
