/* The differences between the instruction set levels of the CPU variants: part of the prelude; not a
 * program. The levels are the rows of lib/runtime/tuning/levels.c, from which the host sets
 *     VECTOR_LANES floats per register, 8 or 16
 *     BLOCK_ROWS    rows of x whose sums with two registers of outputs fit in registers, at most 8
 *     INT8_BYTES    how int8 products are computed: CLF__INT8_DOT, CLF__INT8_PAIR or CLF__INT8_FLOAT
 *     HAS_DOT_INT8, HAS_DOT_BF16  the level has dot product instructions for this type
 *     HAS_TILES  the level has instructions for products of tiles (tiles.cl) */
#include "runtime/tuning/levels.h"
#include "include/wide.cl"

/* One register of the level: the vectors of register blocks. */
#ifndef VECTOR_LANES /* the probe kernel runs before the level is known; GPU variants have none */
#define VECTOR_LANES 8
#define BLOCK_ROWS   6
#define INT8_BYTES   CLF__INT8_FLOAT
#endif
#if VECTOR_LANES == 16
typedef float16 floatv;
typedef int16 intv;
typedef uint16 uintv;
#define fmav             fma16
#define sumv             sum16
#define vloadv           vload16
#define vstorev          vstore16
#define vload_halfv      vload_half16
#define convert_floatv   convert_float16
#define convert_intv     convert_int16
#define as_floatv        as_float16
#define as_intv          as_int16
#define as_uintv         as_uint16
#else
typedef float8 floatv;
typedef int8 intv;
typedef uint8 uintv;
#define fmav             fma
#define sumv(v)          (((v).s0 + (v).s4) + ((v).s2 + (v).s6) + (((v).s1 + (v).s5) + ((v).s3 + (v).s7)))
#define vloadv           vload8
#define vstorev          vstore8
#define vload_halfv(i, p) load_half8((p) + 8 * (i))
#define convert_floatv   convert_float8
#define convert_intv     convert_int8
#define as_floatv        as_float8
#define as_intv          as_int8
#define as_uintv         as_uint8
#endif

/* A register of floats at any address in global memory. PoCL's vload8 loads two floats at a time; the compiler
 * merges these loads in most kernels, but never for integers. */
#ifdef __clang__
typedef floatv loose_floatv __attribute__((aligned(4)));
#define load_floatv(p) (*(const __global loose_floatv *)(p))
#else
#define load_floatv(p) vloadv(0, p)
#endif
#if defined(__clang__) && defined(__aarch64__)
typedef intv loose_intv __attribute__((aligned(4)));
#define load_intv(p) (*(const __global loose_intv *)(p))
#else
#define load_intv(p) vloadv(0, p)
#endif

/* Hints to the compiler. LOAD_AGAIN: reload earlier values after this point, because the sums need the registers.
 * HOLD_POINTER: keep the pointer in a register instead of recomputing it from others in a loop. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SPIR__)
#define LOAD_AGAIN      __asm__ volatile("" ::: "memory")
#define HOLD_POINTER(p) __asm__("" : "+r"(p))
#else
#define LOAD_AGAIN
#define HOLD_POINTER(p)
#endif

/* Dot products that PoCL's compiler does not know, but its assembler does. In each lane, acc of 32 bits: */
#if INT8_BYTES == CLF__INT8_DOT && defined(__aarch64__)
/* acc += x[0 .. 3] . w[0 .. 3] of signed bytes, of which w is never -128, half a vector at a time. */
#ifdef HAS_DOT_INT8 /* LLVM 15 accepts sdot only if the architecture name is followed by an extension */
#define ADD_DOTS(acc, x, w)                                                                                            \
    __asm__(".arch armv8.4-a+crc\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(x), "w"(w));
#define DOT_INT8(acc, x, w)                                                                                            \
    {                                                                                                                  \
        int4 low_ = (acc).lo, high_ = (acc).hi;                                                                        \
        ADD_DOTS(low_, (x).lo, (w).lo)                                                                                 \
        ADD_DOTS(high_, (x).hi, (w).hi)                                                                                \
        acc = (intv)(low_, high_);                                                                                     \
    }
#else /* sums of two products fit in 16 bits; this order needs only three registers besides the sums */
#define MULTIPLY_HALF(to, half, x, w) __asm__ volatile("smull" half : "=w"(to) : "w"(x), "w"(w))
#define ADD_HALVES(acc, a, b)                                                                                          \
    __asm__ volatile("addp %1.8h, %1.8h, %2.8h\n\tsadalp %0.4s, %1.8h" : "+w"(acc), "+w"(a) : "w"(b))
#define DOT_INT8(acc, x, w)                                                                                            \
    {                                                                                                                  \
        int4 low_ = (acc).lo, high_ = (acc).hi;                                                                        \
        short8 a_, b_, c_;                                                                                             \
        MULTIPLY_HALF(a_, " %0.8h, %1.8b, %2.8b", (x).lo, (w).lo);                                                     \
        MULTIPLY_HALF(b_, "2 %0.8h, %1.16b, %2.16b", (x).lo, (w).lo);                                                  \
        MULTIPLY_HALF(c_, " %0.8h, %1.8b, %2.8b", (x).hi, (w).hi);                                                     \
        ADD_HALVES(low_, a_, b_);                                                                                      \
        MULTIPLY_HALF(b_, "2 %0.8h, %1.16b, %2.16b", (x).hi, (w).hi);                                                  \
        ADD_HALVES(high_, c_, b_);                                                                                     \
        acc = (intv)(low_, high_);                                                                                     \
    }
#endif
#elif INT8_BYTES == CLF__INT8_DOT
/* acc += u[0 .. 3] . s[0 .. 3] of bytes, u unsigned and s signed. */
#if VECTOR_LANES == 16
#define DOT_INT8(acc, u, s) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s))
#elif defined(__AVX512VL__)
#define DOT_INT8(acc, u, s) __asm__("vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(u), "x"(s))
#else
#define DOT_INT8(acc, u, s) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(u), "x"(s))
#endif
#elif INT8_BYTES == CLF__INT8_PAIR
/* acc += a[0 .. 1] . b[0 .. 1] of signed 16-bit numbers. */
typedef short shortv __attribute__((ext_vector_type(2 * VECTOR_LANES)));
#define DOT_INT8(acc, a, b)                                                                                            \
    {                                                                                                                  \
        intv products;                                                                                                 \
        __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(acc), "=&x"(products) : "x"(a), "x"(b));             \
    }
#endif
#ifdef HAS_DOT_BF16
/* acc += x[1] w[1], then += x[0] w[0]. */
#define DOT_BF16(acc, x, w) __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x))
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
