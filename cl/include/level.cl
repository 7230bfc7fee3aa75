/* What a level of instructions of the CPU forms does otherwise than another: part of the prelude, never built alone. The
 * levels are the rows of lib/device/levels.c, from which the host sets
 *     BLOCK_ROWS                  rows of x whose sums with a panel of outputs lie in registers, at most 8
 *     HAS_DOT_INT8, HAS_DOT_BF16  where the level has these instructions
 */
#include "device/levels.h"

#ifndef BLOCK_ROWS
#define BLOCK_ROWS 8 /* for the probe kernel, which comes before the level is known */
#endif

/* Dot products that PoCL's compiler does not know, but its assembler. In 16 lanes, acc of 32 bits each: */
#ifdef HAS_DOT_INT8
/* acc[i] += u[4i .. 4i + 3] . s[4i .. 4i + 3], u unsigned and s signed. */
#define DOT_INT8(acc, u, s) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s))
#endif
#ifdef HAS_DOT_BF16
/* acc[i] += x[2i + 1] w[2i + 1], then += x[2i] w[2i]. */
#define DOT_BF16(acc, x, w) __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x))
#endif

/* Vectors of 16 lanes: one register of AVX-512 and two of AVX2. Where such a vector is two, compilers for x86 warn of each
 * function that takes or returns it by value, since how it travels depends on the instructions. So functions of ours take
 * and return it in a struct, behind macros that hide it, and built-in functions get it by its halves. All are inlined:
 * this changes neither bits nor speed. */
struct wide {
    float16 v;
};
#define WIDE(vector) ((struct wide){vector})

#if defined(__x86_64__) && !defined(__AVX512F__)
#define JOIN_HALVES(low, high)                                                                                         \
    __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

static inline struct wide wide_fma(struct wide a, struct wide b, struct wide c)
{
    return WIDE(JOIN_HALVES(fma(a.v.lo, b.v.lo, c.v.lo), fma(a.v.hi, b.v.hi, c.v.hi)));
}

static inline struct wide wide_fmax(struct wide a, struct wide b)
{
    return WIDE(JOIN_HALVES(fmax(a.v.lo, b.v.lo), fmax(a.v.hi, b.v.hi)));
}

static inline struct wide wide_exp(struct wide a)
{
    return WIDE(JOIN_HALVES(exp(a.v.lo), exp(a.v.hi)));
}

static inline struct wide wide_sqrt(struct wide a)
{
    return WIDE(JOIN_HALVES(sqrt(a.v.lo), sqrt(a.v.hi)));
}

static inline struct wide wide_fabs(struct wide a)
{
    return WIDE(JOIN_HALVES(fabs(a.v.lo), fabs(a.v.hi)));
}

#define fma16(a, b, c)       (wide_fma(WIDE(a), WIDE(b), WIDE(c)).v)
#define fmax16(a, b)         (wide_fmax(WIDE(a), WIDE(b)).v)
#define exp16(a)             (wide_exp(WIDE(a)).v)
#define sqrt16(a)            (wide_sqrt(WIDE(a)).v)
#define fabs16(a)            (wide_fabs(WIDE(a)).v)
#define vload16(i, p)        JOIN_HALVES(vload8(2 * (i), p), vload8(2 * (i) + 1, p))
#define vload_half16(i, p)   JOIN_HALVES(vload_half8(2 * (i), p), vload_half8(2 * (i) + 1, p))
#define convert_float16(a)   __builtin_convertvector(a, float16)
#define convert_int16(a)     __builtin_convertvector(a, int16)
#define convert_ushort16(a)  __builtin_convertvector(a, ushort16)
#define vstore16(value, i, p)                                                                                          \
    do {                                                                                                               \
        __typeof__(+(value)) whole = (value); /* + leaves out where it lies */                                         \
        vstore8(__builtin_shufflevector(whole, whole, 0, 1, 2, 3, 4, 5, 6, 7), 2 * (i), p);                            \
        vstore8(__builtin_shufflevector(whole, whole, 8, 9, 10, 11, 12, 13, 14, 15), 2 * (i) + 1, p);                  \
    } while (0)
#else
#define fma16  fma
#define fmax16 fmax
#define exp16  exp
#define sqrt16 sqrt
#define fabs16 fabs
#endif

/* For macros that are written once for several types: fma_##T and so on. */
#define fma_float    fma
#define fma_float4   fma
#define fma_float16  fma16
#define exp_float    exp
#define exp_float16  exp16
#define sqrt_float   sqrt
#define sqrt_float4  sqrt
#define sqrt_float16 sqrt16
#define fabs_float   fabs
#define fabs_float16 fabs16
