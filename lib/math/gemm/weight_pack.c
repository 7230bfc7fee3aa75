#include <math.h>
#include <string.h>

#include "base/half.h"
#include "math/gemm/backend.h"

/* Returns the position of inputs k .. k + group - 1 of an output in a panel; k is a multiple of the
 * group. */
static size_t place_of(const struct clf__packing *packing, int lane, int k)
{
    return (size_t)k * CLF__PANEL + (size_t)(lane * packing->group);
}

static void pack_fp32(const struct clf__packing *packing, void *panel, int lane, const float *row, int inputs)
{
    (void)packing; /* a group is one input */
    float *to = (float *)panel + lane;
    for (int k = 0; k < inputs; k++) {
        to[(size_t)k * CLF__PANEL] = row[k];
    }
}

#define DEFINE_PACK_16(NAME, ROUND)                                                                          \
    static void NAME(const struct clf__packing *packing, void *panel, int lane, const float *row,            \
                     int inputs)                                                                             \
    {                                                                                                        \
        for (int k = 0; k < inputs; k += packing->group) {                                                   \
            uint16_t *to = (uint16_t *)panel + place_of(packing, lane, k);                                   \
            int count = inputs - k < packing->group ? inputs - k : packing->group;                           \
            for (int i = 0; i < count; i++) {                                                                \
                to[i] = ROUND(row[k + i]);                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_PACK_16(pack_fp16, clf__fp16_of)
DEFINE_PACK_16(pack_bf16, clf__bf16_of)

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

size_t clf__packed_inputs(const struct clf__packing *packing, int inputs)
{
    size_t whole = (size_t)packing->multiple;
    return clf__ceil_divide((size_t)inputs, whole) * whole;
}

/* Returns the scales of an int8 panel, which are followed by the sums of the weights. */
static float *scales_of(const struct clf__packing *packing, void *panel, int inputs)
{
    return (float *)((int8_t *)panel + clf__packed_inputs(packing, inputs) * CLF__PANEL);
}

void clf__pack_int8_row(const struct clf__packing *packing, void *panel, int lane, const int8_t *row,
                        float factor, int inputs)
{
    float *scales = scales_of(packing, panel, inputs);
    int32_t sum = 0;
    for (int k = 0; k < inputs; k += packing->group) {
        int count = inputs - k < packing->group ? inputs - k : packing->group;
        memcpy((int8_t *)panel + place_of(packing, lane, k), row + k, (size_t)count);
        for (int i = 0; i < count; i++) {
            sum += row[k + i];
        }
    }
    scales[lane] = factor;
    ((int32_t *)(scales + CLF__PANEL))[lane] = sum;
}

/* Packs an output as cl/include/product_int8.cl describes. An output with an infinity or NaN gets a NaN
 * scale, which keeps the error visible. */
static void pack_int8(const struct clf__packing *packing, void *panel, int lane, const float *row, int inputs)
{
    float largest = clf__int8_largest(row, inputs);
    float *scales = scales_of(packing, panel, inputs);
    int32_t *sums = (int32_t *)(scales + CLF__PANEL);
    scales[lane] = clf__int8_factor(largest);
    if (!isfinite(largest) || largest == 0.0f) {
        return;
    }
    for (int k = 0; k < inputs; k += packing->group) {
        int8_t *to = (int8_t *)panel + place_of(packing, lane, k);
        int count = inputs - k < packing->group ? inputs - k : packing->group;
        for (int i = 0; i < count; i++) {
            to[i] = clf__int8_of(row[k + i], largest);
            sums[lane] += to[i];
        }
    }
}

/* A weight beyond the range of fp16 would become infinite and produce NaN. */
clf_status clf__weight_check_values(const struct clf__weight_stream *stream, const float *values,
                                    size_t count)
{
    const float limit = 65520.0f; /* larger numbers round to infinity; the largest half is 65504 */
    for (size_t i = 0; stream->precision == CLF__PRECISION_FP16 && i < count; i++) {
        if (isfinite(values[i]) && fabsf(values[i]) >= limit) {
            return clf__fail(
                CLF_UNSUPPORTED,
                "%s: a weight is %g, beyond the fp16 maximum of 65504; load the model in bf16 or fp32",
                stream->what, (double)values[i]);
        }
    }
    return CLF_OK;
}

static const struct clf__packing native[] = {
    [CLF__PRECISION_FP32] = {1, 1, sizeof(float), 0, pack_fp32},
    [CLF__PRECISION_FP16] = {1, 1, sizeof(uint16_t), 0, pack_fp16},
    [CLF__PRECISION_BF16] = {2, 2, sizeof(uint16_t), 0, pack_bf16},
    [CLF__PRECISION_INT8] = {4, 4, sizeof(int8_t), CLF__INT8_TAIL, pack_int8},
};

/* Groups of 16 bytes, padded to whole slices. */
static const struct clf__packing matrix[] = {
    [CLF__PRECISION_FP16] = {8, CLF__MATRIX_INPUTS(CLF__PRECISION_FP16), sizeof(uint16_t), 0, pack_fp16},
    [CLF__PRECISION_BF16] = {8, CLF__MATRIX_INPUTS(CLF__PRECISION_BF16), sizeof(uint16_t), 0, pack_bf16},
    [CLF__PRECISION_INT8] = {16, CLF__MATRIX_INPUTS(CLF__PRECISION_INT8), sizeof(int8_t), CLF__INT8_TAIL,
                             pack_int8},
};

static const struct clf__packing *find(const struct clf__packing *packings, size_t count,
                                       enum clf__precision precision)
{
    return (size_t)precision < count && packings[precision].group > 0 ? &packings[precision] : NULL;
}

const struct clf__packing *clf__packing_of(enum clf__precision precision)
{
    return find(native, sizeof native / sizeof *native, precision);
}

const struct clf__packing *clf__matrix_packing_of(enum clf__precision precision)
{
    return find(matrix, sizeof matrix / sizeof *matrix, precision);
}
