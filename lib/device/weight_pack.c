#include <string.h>

#include "device/gemm_provider.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* To the nearest half, ties to even; what is too large becomes infinite. */
static uint16_t half_of(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u); /* NaN */
    }
    if (magnitude >= 0x477ff000u) {
        return (uint16_t)(sign | 0x7c00u); /* 65520 and more */
    }
    if (magnitude < 0x38800000u) {
        /* Below 2^-14 a half counts in steps of 2^-24: adding 1/2 rounds to just those. */
        float steps = (float)(value < 0 ? -value : value) + 0.5f;
        return (uint16_t)(sign | (bits_of(steps) - bits_of(0.5f)));
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude + 0xfffu + odd - (112u << 23)) >> 13));
}

/* To the nearest bf16, the upper half of a float, ties to even; what is too large becomes infinite. */
static uint16_t bf16_of(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u); /* NaN */
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static void pack_fp32(void *groups, const float *row, int count)
{
    float *to = groups;
    for (int k = 0; k < count; k++) {
        to[(size_t)k * CLF__PANEL] = row[k];
    }
}

static void pack_fp16(void *groups, const float *row, int count)
{
    uint16_t *to = groups;
    for (int k = 0; k < count; k++) {
        to[(size_t)k * CLF__PANEL] = half_of(row[k]);
    }
}

static void pack_bf16(void *groups, const float *row, int count)
{
    uint16_t *to = groups;
    for (int k = 0; k < count; k++) {
        to[(size_t)(k / 2) * 2 * CLF__PANEL + (size_t)(k % 2)] = bf16_of(row[k]);
    }
}

const struct clf__packing *clf__packing_of(clf_precision precision)
{
    static const struct clf__packing packings[] = {
        [CLF_PRECISION_FP32] = {1, sizeof(float), pack_fp32},
        [CLF_PRECISION_FP16] = {1, sizeof(uint16_t), pack_fp16},
        [CLF_PRECISION_BF16] = {2, sizeof(uint16_t), pack_bf16},
    };
    return (size_t)precision < sizeof packings / sizeof *packings ? &packings[precision] : NULL;
}
