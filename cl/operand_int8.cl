/* Activations in 8 bits: x ≈ s q, q = round(x / s) in -127 .. 127, s = max |x| of the row / 127. Included, never built
 * alone.
 *
 * Every kernel quantises by these functions, so that a row's q are the same wherever it is done. What q lies in memory
 * as is the form's: on the GPU form a char, on the CPU form what its product reads. */

#ifdef HAS_DOT_INT8 /* vpdpbusd takes unsigned times signed */
typedef uchar cpu_operand;
#define CPU_OPERAND_ZERO 128
#else /* products of fp32, exact */
typedef float cpu_operand;
#define CPU_OPERAND_ZERO 0
#endif

/* s from the largest |x| of a row as bits, in whose order infinities and NaN come last: such a row gets s = NaN. One
 * whose largest is too small to divide by (below 1e-30) is taken for zeros. */
static inline float scale_of_largest(uint largest, float *inverse)
{
    float value = as_float(largest);
    int is_usable = largest < 0x7f800000u && value > 1e-30f;
    *inverse = is_usable ? 127.0f / value : 0.0f;
    return largest >= 0x7f800000u ? NAN : is_usable ? value / 127.0f : 0.0f;
}

static inline float scale_of_row(const __global float *x, int inputs, float *inverse)
{
    uint16 largest = 0;
    int k = 0;
    for (; k + 16 <= inputs; k += 16) {
        largest = max(largest, as_uint16(vload16(0, x + k)) & 0x7fffffffu);
    }
    if (k < inputs) {
        largest = max(largest, as_uint16(load_part(x + k, inputs - k, 0.0f)) & 0x7fffffffu);
    }
    uint8 a = max(largest.lo, largest.hi);
    uint4 b = max(a.lo, a.hi);
    uint2 c = max(b.lo, b.hi);
    return scale_of_largest(max(c.x, c.y), inverse);
}

/* round(x * inverse), ties to even: adding 1.5 * 2^23 leaves the integer in the low bits. */
static inline int quantize(float x, float inverse)
{
    return as_int(fma(x, inverse, 12582912.0f)) - 0x4b400000;
}

static inline int16 quantize16(float16 x, float inverse)
{
    return as_int16(fma(x, (float16)inverse, (float16)12582912.0f)) - 0x4b400000;
}
