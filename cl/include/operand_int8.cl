/* Activations in 8 bits: x ≈ s q, q = round(x / s), s = (hi - lo) / 254, with hi the maximum of the row and 0, and lo
 * the minimum of the row and 0; so rows with numbers of one sign also use all eight bits. u = q + zero, zero =
 * round(-lo / s), is in 0 .. 255. Include file, not a program.
 *
 * Every kernel quantizes with these functions, so q of a row does not depend on the kernel. The stored operand
 * depends on the kernel variant: u - 128 as a char on the GPU, the format that the GEMM reads on the CPU. */
#ifndef OPERAND_INT8 /* more than one file includes this one */
#define OPERAND_INT8
#include "math/gemm/layout.h"

#if INT8_BYTES == CLF__INT8_DOT && defined(__aarch64__) /* its dot products need two signed numbers: u -
                                                         * 128 */
typedef char cpu_operand;
typedef char16 cpu_operand16;
#define CPU_OPERAND_ZERO(zero) ((zero) - 128)
#define CPU_OPERAND_PLACE(k)   (k)
#define CONVERT_OPERAND16(u)   convert_char16(u)
#elif INT8_BYTES == CLF__INT8_DOT /* vpdpbusd needs unsigned times signed: u */
typedef uchar cpu_operand;
typedef uchar16 cpu_operand16;
#define CPU_OPERAND_ZERO(zero) (zero)
#define CPU_OPERAND_PLACE(k)   (k)
#define CONVERT_OPERAND16(u)   convert_uchar16(u)
#elif INT8_BYTES == CLF__INT8_PAIR /* vpmaddwd needs signed numbers of 16 bits: q, in the order of w */
typedef short cpu_operand;
typedef short16 cpu_operand16;
#define CPU_OPERAND_ZERO(zero) 0
#define CPU_OPERAND_PLACE(k)   (((k) & ~3) | ((k) & 1) << 1 | ((k) >> 1 & 1)) /* 0, 2, 1, 3 of each group */
#define CONVERT_OPERAND16(q)   (__builtin_convertvector(q, short16).s021346578a9bcedf)
#else /* fp32 products, which are exact: q */
typedef float cpu_operand;
typedef float16 cpu_operand16;
#define CPU_OPERAND_ZERO(zero) 0
#define CPU_OPERAND_PLACE(k)   (k)
#define CONVERT_OPERAND16(q)   convert_float16(q)
#endif

/* Returns s, and 1 / s, from lo and hi; broken is NaN if the row contains an infinity or NaN, and then s is NaN. A
 * row too small for a division (s below 1e-32) counts as zeros. */
static inline float scale_of_range(float lo, float hi, float broken, float *inverse)
{
    float s = hi / 254.0f - lo / 254.0f;
    int is_usable = s > 1e-32f && !isnan(broken);
    *inverse = is_usable ? 1.0f / s : 0.0f;
    return isnan(broken) ? NAN : is_usable ? s : 0.0f;
}

/* q = round(x * inverse), ties to even: adding 1.5 * 2^23 leaves the integer in the low bits. */
static inline int quantize(float x, float inverse)
{
    return as_int(fma(x, inverse, 12582912.0f)) - 0x4b400000;
}

#define quantize16(x, inverse) (as_int16(fma16(x, (float16)(inverse), (float16)(12582912.0f))) - 0x4b400000)

/* ---- GPU variant: neighbouring work-items share a row, by quads ---- */

/* The scale of a row, its inverse, and the number that turns q into an operand. */
struct row_scale {
    float scale, inverse;
    int zero;
};

/* The range of the numbers of a row that a work-item has read. broken: NaN if a number is infinite or NaN. */
struct row_range {
    float4 low, high, broken;
};

static inline struct row_range empty_range(void)
{
    return (struct row_range){(float4)(0.0f), (float4)(0.0f), (float4)(0.0f)};
}

static inline void widen_range(struct row_range *range, float4 v)
{
    range->low = fmin(range->low, v); /* fmin() and fmax() skip NaN */
    range->high = fmax(range->high, v);
    range->broken = fma(v, (float4)(0.0f), range->broken);
}

/* Returns the maximum over `items` adjacent work-items; the calling work-item is number `item` of these. shared:
 * one value per work-item. All work-items of a group must call this function. */
#define RANGE_PARTS 16
static inline float2 max_of_items(__local float2 *shared, float2 value, int item, int items)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < RANGE_PARTS) {
        for (int i = item + RANGE_PARTS; i < items; i += RANGE_PARTS) {
            value = fmax(value, shared[i]);
        }
        shared[item] = value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < RANGE_PARTS; i++) {
        value = fmax(value, shared[i]);
    }
    return value;
}

/* Returns the scale of a row from the ranges of its work-items; the other arguments are those of the maximum. */
static inline struct row_scale scale_of_items(const struct row_range *range, __local float2 *shared, int item, int items)
{
    /* An infinite maximum marks a broken row. In rows of both signs Intel's CPU runtime computes 0 for
     * -low. */
    float high = isnan(sum4(range->broken)) ? INFINITY : max4(range->high);
    float2 ends = max_of_items(shared, (float2)(max4(0.0f - range->low), high), item, items);
    float lo = 0.0f - ends.x;
    struct row_scale by;
    by.scale = scale_of_range(lo, ends.y, isinf(ends.y) ? NAN : 0.0f, &by.inverse);
    by.zero = -quantize(lo, by.inverse) - 128;
    return by;
}

/* Stores a quad of operands; the first `left` >= 1 belong to the row, and the others become zeros. */
static inline void store_quantized_quad(float4 v, __global uchar *to, int left, const struct row_scale *by)
{
    int4 q = as_int4(fma(v, (float4)(by->inverse), (float4)(12582912.0f))) - 0x4b400000;
    *(__global char4 *)to = convert_char4(select((int4)(0), q + by->zero, (int4)(0, 1, 2, 3) < left));
}

/* Stores the tail of a row. end: the start of the next row. */
static inline void store_row_scale(__global uchar *end, const struct row_scale *by)
{
    *(__global float *)(end - 8) = by->scale;
    *(__global int *)(end - 4) = by->zero;
}

/* Quantizes a row of `inputs` floats, whose operands take `pitch` bytes; other arguments as above. */
#define QUADS_AT_ONCE 4 /* loads of a work-item in flight */
static inline void quantize_row_gpu(__local float2 *shared, __global uchar *to, int pitch, const __global float *from,
                                    int inputs, int item, int items)
{
    struct row_range range = empty_range();
    for (int first = 4 * item; first < inputs; first += 4 * items * QUADS_AT_ONCE) {
        float4 values[QUADS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < QUADS_AT_ONCE; i++) {
            int k = first + 4 * items * i;
            values[i] = k < inputs ? load_quad(from + k, inputs - k, 0.0f) : (float4)(0.0f);
        }
#pragma unroll
        for (int i = 0; i < QUADS_AT_ONCE; i++) {
            widen_range(&range, values[i]);
        }
    }
    const struct row_scale by = scale_of_items(&range, shared, item, items);
    for (int k = 4 * item; k < inputs; k += 4 * items) {
        store_quantized_quad(load_quad(from + k, inputs - k, 0.0f), to + k, inputs - k, &by);
    }
    if (item == 0) {
        store_row_scale(to + pitch, &by);
    }
}

/* ---- CPU variant ---- */

/* Returns s of a row, the other results of scale_of_range(), and lo. */
static inline float scale_of_row(const __global float *x, int inputs, float *inverse, float *lo)
{
    float16 low = 0.0f, high = 0.0f, broken = 0.0f, low_2 = 0.0f, high_2 = 0.0f, broken_2 = 0.0f;
    int k = 0;
    for (; k + 32 <= inputs; k += 32) {
        float16 v = vload16(0, x + k), u = vload16(1, x + k);
        low = v < low ? v : low;
        low_2 = u < low_2 ? u : low_2;
        high = v > high ? v : high;
        high_2 = u > high_2 ? u : high_2;
        broken = fma16(v, (float16)0.0f, broken);
        broken_2 = fma16(u, (float16)0.0f, broken_2);
    }
    for (; k < inputs; k += 16) {
        float16 v = inputs - k >= 16 ? vload16(0, x + k) : load_part(x + k, inputs - k, 0.0f);
        low = v < low ? v : low;
        high = v > high ? v : high;
        broken = fma16(v, (float16)0.0f, broken);
    }
    low = low < low_2 ? low : low_2;
    high = high > high_2 ? high : high_2;
    broken += broken_2;
    *lo = -max16(-low);
    return scale_of_range(*lo, max16(high), sum16(broken), inverse);
}

/* Bytes between rows; a row ends with s as a float and zero as an integer. */
#define OPERAND_PITCH(inputs) CLF__PACKED_PITCH(inputs, sizeof(cpu_operand), CLF__INT8_ROW_TAIL)

/* Quantizes one row, with zeros beyond its K inputs. */
static inline void quantize_row_global(__global uchar *row, size_t pitch, const __global float *x, int inputs)
{
    __global cpu_operand *to = (__global cpu_operand *)row;
    float inverse, lo;
    *(__global float *)(row + pitch - 8) = scale_of_row(x, inputs, &inverse, &lo);
    int zero = CPU_OPERAND_ZERO(-quantize(lo, inverse));
    *(__global int *)(row + pitch - 4) = zero;
    int k = 0;
    for (; k + 16 <= inputs; k += 16) {
        *(__global cpu_operand16 *)(to + k) = CONVERT_OPERAND16(quantize16(vload16(0, x + k), inverse) + zero);
    }
    for (; k < (inputs + 3) / 4 * 4; k++) {
        to[CPU_OPERAND_PLACE(k)] = (cpu_operand)(k < inputs ? quantize(x[k], inverse) + zero : 0);
    }
}
#endif
