#include <math.h>
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

static void pack_fp32(void *panel, int lane, const float *row, int inputs)
{
    float *to = (float *)panel + lane;
    for (int k = 0; k < inputs; k++) {
        to[(size_t)k * CLF__PANEL] = row[k];
    }
}

static void pack_fp16(void *panel, int lane, const float *row, int inputs)
{
    uint16_t *to = (uint16_t *)panel + lane;
    for (int k = 0; k < inputs; k++) {
        to[(size_t)k * CLF__PANEL] = half_of(row[k]);
    }
}

static void pack_bf16(void *panel, int lane, const float *row, int inputs)
{
    uint16_t *to = (uint16_t *)panel + 2 * lane;
    for (int k = 0; k < inputs; k++) {
        to[(size_t)(k / 2) * 2 * CLF__PANEL + (size_t)(k % 2)] = bf16_of(row[k]);
    }
}

/* As cl/product_int8.cl says. An output with an infinity or NaN gets NaN as its scale, so that it shows. */
static void pack_int8(void *panel, int lane, const float *row, int inputs)
{
    float largest = 0.0f;
    for (int k = 0; k < inputs; k++) {
        float size = fabsf(row[k]);
        largest = size <= largest ? largest : isfinite(size) ? size : INFINITY;
    }
    size_t groups = ((size_t)inputs + 3) / 4;
    float *scales = (float *)((int8_t *)panel + groups * 4 * CLF__PANEL);
    int32_t *sums = (int32_t *)(scales + CLF__PANEL);
    scales[lane] = isfinite(largest) ? largest / 127.0f : NAN;
    if (!isfinite(largest) || largest == 0.0f) {
        return;
    }
    int8_t *to = (int8_t *)panel + 4 * (size_t)lane;
    for (int k = 0; k < inputs; k++) {
        int8_t q = (int8_t)lrintf(row[k] / largest * 127.0f);
        to[(size_t)(k / 4) * 4 * CLF__PANEL + (size_t)(k % 4)] = q;
        sums[lane] += q;
    }
}

const struct clf__packing *clf__packing_of(clf_precision precision)
{
    static const struct clf__packing packings[] = {
        [CLF_PRECISION_FP32] = {1, sizeof(float), 0, pack_fp32},
        [CLF_PRECISION_FP16] = {1, sizeof(uint16_t), 0, pack_fp16},
        [CLF_PRECISION_BF16] = {2, sizeof(uint16_t), 0, pack_bf16},
        [CLF_PRECISION_INT8] = {4, sizeof(int8_t), CLF__PANEL * (sizeof(float) + sizeof(int32_t)), pack_int8},
    };
    return (size_t)precision < sizeof packings / sizeof *packings && packings[precision].group > 0
               ? &packings[precision]
               : NULL;
}
