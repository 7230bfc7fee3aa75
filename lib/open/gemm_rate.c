#include "open/gemm_rate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "math/gemm/gemm.h"
#include "math/gemm/layout.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

struct operands {
    struct clf_device *device;
    struct clf__weight *weight;
    struct clf__buffer *x, *rounded, *y; /* rounded: NULL if the GEMM reads fp32 */
    struct clf__matrix operand;          /* of the GEMM: x or rounded */
    int size;
};

static clf_status create_weight(struct operands *out, const struct clf__gemm_case *gemm)
{
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, (size_t)gemm->size * (size_t)gemm->size, sizeof *values));
    const struct clf__weight_part part = {values, gemm->size};
    const struct clf__weight_source source = {.parts = &part,
                                              .part_count = 1,
                                              .inputs = gemm->size,
                                              .precision = gemm->precision,
                                              .what = "the weight of a measurement"};
    clf_status status = clf__weight_create(&out->weight, out->device, &source);
    clf__free(values);
    return status;
}

/* Converts x as the layers of a model do: once for several GEMMs. */
static clf_status create_operand(struct operands *out, int rows, int size)
{
    enum clf__precision precision = clf__gemm_row_operand(out->weight);
    const struct clf__matrix x = {.buffer = out->x, .stride = size};
    out->operand = x;
    if (precision == CLF__PRECISION_FP32) {
        return CLF_OK;
    }
    int stride = precision == CLF__PRECISION_INT8 ? CLF__QUANTIZED_STRIDE(size) : size;
    CLF__TRY(clf__buffer_create(&out->rounded, out->device, (size_t)rows * (size_t)stride * sizeof(uint16_t),
                                "the converted operand of a measurement"));
    out->operand = (struct clf__matrix){.buffer = out->rounded, .stride = stride, .precision = precision};
    return clf__gemm_round(out->operand, x, rows, size);
}

/* The caller frees the operands, even after a failure. */
static clf_status create_operands(struct operands *out, const struct clf__gemm_case *gemm)
{
    size_t bytes = (size_t)gemm->rows * (size_t)gemm->size * sizeof(float);
    out->size = gemm->size;
    CLF__TRY(create_weight(out, gemm));
    CLF__TRY(clf__buffer_create(&out->x, out->device, bytes, "the operand of a measurement"));
    CLF__TRY(clf__buffer_create(&out->y, out->device, bytes, "the product of a measurement"));
    CLF__TRY(clf__buffer_fill(out->x, 0, bytes, 1.0f));
    return create_operand(out, gemm->rows, gemm->size);
}

static void free_operands(struct operands *operands)
{
    clf__weight_free(operands->weight);
    clf__buffer_free(operands->x);
    clf__buffer_free(operands->rounded);
    clf__buffer_free(operands->y);
}

static clf_status time_launches(double *seconds, const struct operands *operands, int rows, int launches)
{
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    const struct clf__matrix y = {.buffer = operands->y, .stride = operands->size};
    double begin = clf__seconds();
    for (int i = 0; i < launches; i++) {
        CLF__TRY(clf__gemm_weight(y, operands->operand, rows, operands->weight, &epilogue));
    }
    CLF__TRY(clf__device_finish(operands->device));
    *seconds = clf__seconds() - begin;
    return CLF_OK;
}

static clf_status run(double *rate, const struct operands *operands, const struct clf__gemm_case *gemm)
{
    enum { LEAST_RUNS = 3, MOST_LAUNCHES = 1024 };
    const double long_enough = 1e-3;
    double best = 0.0, seconds = 0.0;
    CLF__TRY(time_launches(&seconds, operands, gemm->rows, 1)); /* includes compilation */
    double end = clf__seconds() + gemm->seconds;
    for (int launches = 1, runs = 0; runs < LEAST_RUNS || clf__seconds() < end;) {
        CLF__TRY(time_launches(&seconds, operands, gemm->rows, launches));
        best = best == 0.0 || seconds < best * launches ? seconds / launches : best;
        int is_long = seconds >= long_enough || launches == MOST_LAUNCHES;
        launches *= is_long ? 1 : 2;
        runs += is_long;
    }
    *rate = 2.0 * gemm->rows * gemm->size * gemm->size / best;
    return CLF_OK;
}

clf_status clf__gemm_rate(double *rate, struct clf_device *device, const struct clf__gemm_case *gemm)
{
    struct operands operands = {.device = device};
    *rate = 0.0;
    clf_status status = create_operands(&operands, gemm);
    if (status == CLF_OK) {
        status = run(rate, &operands, gemm);
    }
    free_operands(&operands);
    return status;
}
