/* Activations in 8 bits: x ≈ s q, q = round(x / s) in -127 .. 127, s = max |x| of the row / 127. Included, never built
 * alone.
 *
 * Every kernel quantises by these functions, so that a row's q are the same wherever it is done. What q lies in memory
 * as is the form's: on the GPU form a char, on the CPU form what its product reads. */

#ifdef HAS_DOT_INT8 /* vpdpbusd takes unsigned times signed */
typedef uchar cpu_operand;
#define CPU_OPERAND_ZERO     128
#define CONVERT_OPERAND16(q) convert_uchar16(q)
#else /* products of fp32, exact */
typedef float cpu_operand;
#define CPU_OPERAND_ZERO     0
#define CONVERT_OPERAND16(q) convert_float16(q)
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

/* s of a row. */
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

/* q = round(x * inverse), ties to even: adding 1.5 * 2^23 leaves the integer in the low bits. */
static inline int quantize(float x, float inverse)
{
    return as_int(fma(x, inverse, 12582912.0f)) - 0x4b400000;
}

static inline int16 quantize16(float16 x, float inverse)
{
    return as_int16(fma(x, (float16)inverse, (float16)12582912.0f)) - 0x4b400000;
}

/* ---- CPU form ---- */

/* Bytes from row to row: whole groups of four q, and s as a float at the end; an odd number of cache lines, so that the
 * rows of a block fall on different sets. As lib/device/operand.c counts. */
#define OPERAND_PITCH(inputs) (((((inputs) + 3) / 4 * 4 * sizeof(cpu_operand) + sizeof(float) + 63) / 64 | 1) * 64)

/* One row, with zeros beyond its K inputs. */
#define DEFINE_QUANTIZE_ROW(SPACE)                                                                                     \
    static inline void quantize_row_##SPACE(SPACE uchar *row, size_t pitch, const __global float *x, int inputs)       \
    {                                                                                                                  \
        SPACE cpu_operand *to = (SPACE cpu_operand *)row;                                                              \
        float inverse;                                                                                                 \
        *(SPACE float *)(row + pitch - 4) = scale_of_row(x, inputs, &inverse);                                         \
        int k = 0;                                                                                                     \
        for (; k + 16 <= inputs; k += 16) {                                                                            \
            vstore16(CONVERT_OPERAND16(quantize16(vload16(0, x + k), inverse) + CPU_OPERAND_ZERO), 0, to + k);         \
        }                                                                                                              \
        for (; k < (inputs + 3) / 4 * 4; k++) {                                                                        \
            to[k] = (cpu_operand)((k < inputs ? quantize(x[k], inverse) : 0) + CPU_OPERAND_ZERO);                      \
        }                                                                                                              \
    }
DEFINE_QUANTIZE_ROW(global)
DEFINE_QUANTIZE_ROW(private)
