#include <math.h>
#include <string.h>

#include "base/half.h"
#include "gemm/provider.h"

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
        to[(size_t)k * CLF__PANEL] = clf__fp16_of(row[k]);
    }
}

static void pack_bf16(void *panel, int lane, const float *row, int inputs)
{
    uint16_t *to = (uint16_t *)panel + 2 * lane;
    for (int k = 0; k < inputs; k++) {
        to[(size_t)(k / 2) * 2 * CLF__PANEL + (size_t)(k % 2)] = clf__bf16_of(row[k]);
    }
}

float clf__int8_largest(const float *row, int inputs)
{
    float largest = 0.0f;
    for (int k = 0; k < inputs; k++) {
        float size = fabsf(row[k]);
        largest = size <= largest ? largest : isfinite(size) ? size : INFINITY;
    }
    return largest;
}

int8_t clf__int8_of(float value, float largest)
{
    return largest > 0.0f ? (int8_t)lrintf(value / largest * 127.0f) : 0;
}

float clf__int8_factor(float largest)
{
    return isfinite(largest) ? largest / 127.0f : NAN;
}

/* As cl/include/product_int8.cl says. An output with an infinity or NaN gets NaN as its scale, so that it
 * shows. */
static void pack_int8(void *panel, int lane, const float *row, int inputs)
{
    float largest = clf__int8_largest(row, inputs);
    size_t groups = ((size_t)inputs + 3) / 4;
    float *scales = (float *)((int8_t *)panel + groups * 4 * CLF__PANEL);
    int32_t *sums = (int32_t *)(scales + CLF__PANEL);
    scales[lane] = clf__int8_factor(largest);
    if (!isfinite(largest) || largest == 0.0f) {
        return;
    }
    int8_t *to = (int8_t *)panel + 4 * (size_t)lane;
    for (int k = 0; k < inputs; k++) {
        int8_t q = clf__int8_of(row[k], largest);
        to[(size_t)(k / 4) * 4 * CLF__PANEL + (size_t)(k % 4)] = q;
        sums[lane] += q;
    }
}

void clf__pack_int8_row(void *panel, int lane, const int8_t *row, float factor, int inputs)
{
    size_t groups = ((size_t)inputs + 3) / 4;
    float *scales = (float *)((int8_t *)panel + groups * 4 * CLF__PANEL);
    int32_t *sums = (int32_t *)(scales + CLF__PANEL);
    int8_t *to = (int8_t *)panel + 4 * (size_t)lane;
    int32_t sum = 0;
    int k = 0;
    for (; k + 4 <= inputs; k += 4) { /* four together, which lie together */
        memcpy(to + (size_t)k * CLF__PANEL, row + k, 4);
        sum += row[k] + row[k + 1] + row[k + 2] + row[k + 3];
    }
    for (; k < inputs; k++) {
        to[(size_t)(k / 4) * 4 * CLF__PANEL + (size_t)(k % 4)] = row[k];
        sum += row[k];
    }
    scales[lane] = factor;
    sums[lane] = sum;
}

/* A weight that no half is near would become infinite, and every line that meets it NaN. */
clf_status clf__weight_check_values(const struct clf__weight_stream *stream, const float *values,
                                    size_t count)
{
    const float limit = 65520.0f; /* where rounding leaves the largest half, 65504 */
    for (size_t i = 0; stream->precision == CLF_PRECISION_FP16 && i < count; i++) {
        if (isfinite(values[i]) && fabsf(values[i]) >= limit) {
            return clf__fail(CLF_UNSUPPORTED,
                             "%s: a weight is %g, and fp16 ends at 65504; load the model in bf16 or fp32",
                             stream->what, (double)values[i]);
        }
    }
    return CLF_OK;
}

const struct clf__packing *clf__packing_of(clf_precision precision)
{
    static const struct clf__packing packings[] = {
        [CLF_PRECISION_FP32] = {1, sizeof(float), 0, pack_fp32},
        [CLF_PRECISION_FP16] = {1, sizeof(uint16_t), 0, pack_fp16},
        [CLF_PRECISION_BF16] = {2, sizeof(uint16_t), 0, pack_bf16},
        [CLF_PRECISION_INT8] = {4, sizeof(int8_t), CLF__INT8_TAIL, pack_int8},
    };
    return (size_t)precision < sizeof packings / sizeof *packings && packings[precision].group > 0
               ? &packings[precision]
               : NULL;
}
