/* The bf16 copies that GEMMs with an fp32 weight read. */
#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "math/gemm/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

clf_status clf__weight_multiply_in(struct clf__weight *weight, enum clf__precision precision)
{
    if (weight->precision != CLF__PRECISION_FP32 ||
        (precision != CLF__PRECISION_FP32 && precision != CLF__PRECISION_BF16)) {
        return clf__fail(CLF_UNSUPPORTED, "GEMM: precision %d is not supported with a weight in precision %d",
                         (int)precision, (int)weight->precision);
    }
    if (precision == CLF__PRECISION_FP32) {
        clf__weight_free_copy(weight);
        return CLF_OK;
    }
    if (!weight->backend->rounds_weights) {
        return clf__fail(CLF_UNSUPPORTED,
                         "device %s: CLBlast does not support bf16 GEMMs with fp32 weights; train in fp32 or "
                         "use the native kernels (CLFORMER_GEMM=native)",
                         weight->device->label);
    }
    weight->has_copy = clf__has_bf16_gemm(weight->device);
    return CLF_OK;
}

static clf_status round_weight(const struct clf__weight *rounded, const struct clf__weight *weight)
{
    enum { PAIRS = 32 }; /* a group of cl/gemm/round_weight.cl */
    const struct clf__argument arguments[] = {
        CLF__BUFFER(rounded->buffer),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
    };
    size_t panels = clf__ceil_divide((size_t)weight->outputs, CLF__PANEL);
    const struct clf__launch launch = {
        .program = "round_weight",
        .cpu = CLF__GRID("round_weight_cpu", panels),
        .gpu = CLF__GRID("round_weight_gpu", panels, clf__ceil_divide((size_t)weight->inputs, 2 * PAIRS)),
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes = 1.5 * (double)clf__buffer_bytes(weight->buffer)},
    };
    return clf__launch(weight->device, &launch);
}

clf_status clf__weight_prepare(struct clf__weight *weight)
{
    if (!clf__weight_reads_copy(weight) || weight->rounded != NULL) {
        return CLF_OK;
    }
    struct clf__weight *rounded = NULL;
    CLF__TRY(clf__weight_allocate(&rounded, weight->device, CLF__PRECISION_BF16, weight->outputs,
                                  weight->inputs, "the bf16 copy of a weight"));
    clf_status status = round_weight(rounded, weight);
    if (status != CLF_OK) {
        clf__weight_free(rounded);
        return status;
    }
    weight->rounded = rounded;
    return CLF_OK;
}

clf_status clf__weight_changed(struct clf__weight *weight)
{
    int is_read = clf__weight_reads_copy(weight) && weight->rounded != NULL;
    return is_read ? round_weight(weight->rounded, weight) : CLF_OK;
}
