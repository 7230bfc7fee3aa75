/* Rounds floats to 16-bit operands, to nearest even: OPERAND_PRECISION, by default PRECISION, is fp16 (1) or bf16
 * (2).
 *
 * Finite numbers beyond the range of fp16 become the largest half, as in transformers' T5: an infinite activation would make its
 * whole row infinite. Infinities and NaN do not change. */
#ifndef OPERAND16 /* more than one file includes this one */
#define OPERAND16
#ifndef OPERAND_PRECISION
#define OPERAND_PRECISION PRECISION
#endif

#if OPERAND_PRECISION == 1
#ifdef HAS_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

static inline float2 limit_operands(float2 v)
{
    float2 limited = fmin(fmax(v, (float2)(-65504.0f)), (float2)(65504.0f));
    return select(v, limited, isfinite(v)); /* fmax() would drop NaN */
}

static inline uint pack_operand16(float2 v)
{
    float2 limited = limit_operands(v);
#ifdef MATRIX_NV80
    uint bits;
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(limited.y), "f"(limited.x));
    return bits;
#elif defined(MATRIX_NV75) /* stays in registers */
    uint bits;
    __asm__("{ .reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2; mov.b32 %0, {low, high}; }"
            : "=r"(bits)
            : "f"(limited.x), "f"(limited.y));
    return bits;
#elif defined(HAS_FP16)
    return as_uint((half2)((half)limited.x, (half)limited.y));
#else
    uchar4 bytes; /* characters may alias halves */
    vstore_half2_rte(limited, 0, (half *)&bytes);
    return as_uint(bytes);
#endif
}
#elif OPERAND_PRECISION == 2
#include "include/bf16.cl"
static inline uint pack_operand16(float2 v)
{
#ifdef MATRIX_NV80
    uint bits;
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(v.y), "f"(v.x));
    return bits;
#else
    return round_bf16(v.x) >> 16 | round_bf16(v.y);
#endif
}
#else
#define pack_operand16(v) 0 /* int8 GEMMs do not round results */
#endif

static inline void store_operand16(float v, __global ushort *to)
{
    *to = (ushort)pack_operand16((float2)(v, 0.0f));
}

/* Stores the first `left` >= 1 of four adjacent elements. */
static inline void store_operand_quad(float4 v, __global ushort *to, int left)
{
    uint2 pairs = (uint2)(pack_operand16(v.lo), pack_operand16(v.hi));
    if (left >= 4 && ((size_t)to & 7) == 0) {
        *(__global uint2 *)to = pairs;
        return;
    }
    to[0] = (ushort)pairs.x;
    if (left > 1) {
        to[1] = (ushort)(pairs.x >> 16);
    }
    if (left > 2) {
        to[2] = (ushort)pairs.y;
    }
    if (left > 3) {
        to[3] = (ushort)(pairs.y >> 16);
    }
}

/* Returns a word of eight operands. */
static inline uint4 pack_word16(float4 low, float4 high)
{
    return (uint4)(pack_operand16(low.lo), pack_operand16(low.hi), pack_operand16(high.lo), pack_operand16(high.hi));
}

/* Returns the word of inputs input .. input + 7 of a row of `inputs` floats, zero after the last one. */
static inline uint4 load_word16(const __global float *row, int input, int inputs)
{
    float4 low = (float4)(0.0f), high = low;
    if (input + 8 <= inputs && ((size_t)(row + input) & 15) == 0) {
        low = *(const __global float4 *)(row + input);
        high = *(const __global float4 *)(row + input + 4);
    } else if (input < inputs) {
        low = load_quad(row + input, inputs - input, 0.0f);
        high = input + 4 < inputs ? load_quad(row + input + 4, inputs - input - 4, 0.0f) : high;
    }
    return pack_word16(low, high);
}
#endif
