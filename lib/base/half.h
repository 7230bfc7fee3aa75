/* 16-bit floats on the host: IEEE halves (fp16), and bf16, the upper half of a float. */
#ifndef CLF_BASE_HALF_H
#define CLF_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* Rounds to nearest, ties to even; values out of range become infinite, and NaN stays NaN. */
uint16_t clf__fp16_of(float value);

static inline uint16_t clf__bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet /* NaN */ : rounded);
}

/* Exact: every half is a float. */

static inline float clf__float_of_fp32(uint32_t bits) /* reinterprets the bits */
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float clf__float_of_bf16(uint16_t bits)
{
    return clf__float_of_fp32((uint32_t)bits << 16);
}

static inline float clf__float_of_fp16(uint16_t bits)
{
    uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) { /* infinity and NaN */
        return clf__float_of_fp32(sign | 0x7f800000u | magnitude << 13);
    }
    if (magnitude < 0x400u) { /* a subnormal half is a multiple of 2^-24, and a normal float */
        float value = (float)magnitude * 0x1p-24f;
        return sign ? -value : value;
    }
    return clf__float_of_fp32(sign | ((magnitude << 13) + (112u << 23)));
}

#endif
