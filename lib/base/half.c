#include "base/half.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint16_t clf__fp16_of(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u); /* NaN */
    }
    if (magnitude >= 0x477ff000u) {
        return (uint16_t)(sign | 0x7c00u); /* 65520 or more */
    }
    if (magnitude < 0x38800000u) {
        /* Below 2^-14, halves are multiples of 2^-24. Floats in [1/2, 1) have the same spacing, so adding
         * 1/2 rounds. */
        float steps = (float)(value < 0 ? -value : value) + 0.5f;
        return (uint16_t)(sign | (bits_of(steps) - bits_of(0.5f)));
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude + 0xfffu + odd - (112u << 23)) >> 13));
}
