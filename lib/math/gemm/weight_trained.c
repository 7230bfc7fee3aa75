/* Trained weights: initially zero, read and written by rows. */
#include "math/gemm/backend.h"
#include "math/gemm/gemm.h"
#include "runtime/device/buffer.h"

clf_status clf__weight_create_zero(struct clf__weight **out, struct clf_device *device, int outputs,
                                   int inputs, const char *what)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__weight_check(outputs, inputs, CLF__PRECISION_FP32, what));
    CLF__TRY(clf__weight_allocate(&weight, device, CLF__PRECISION_FP32, outputs, inputs, what));
    clf_status status = clf__buffer_fill(weight->buffer, 0, clf__buffer_bytes(weight->buffer), 0.0f);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}

size_t clf__weight_elements(const struct clf__weight *weight)
{
    return clf__buffer_bytes(weight->buffer) / sizeof(float);
}

static clf_status check_rows(const struct clf__weight *weight, int first, int count)
{
    if (weight->precision != CLF__PRECISION_FP32) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "trained weight: its precision is %d; only fp32 rows can be read and written",
                         (int)weight->precision);
    }
    if (first < 0 || count < 0 || count > weight->outputs - first) {
        return clf__fail(CLF_BAD_ARGUMENT, "trained weight: %d rows starting at row %d exceed its %d outputs",
                         count, first, weight->outputs);
    }
    return CLF_OK;
}

clf_status clf__weight_read(const struct clf__weight *weight, int first, int count, float *target)
{
    CLF__TRY(check_rows(weight, first, count));
    return count > 0 ? weight->backend->read_rows(weight, first, count, target) : CLF_OK;
}

clf_status clf__weight_write(struct clf__weight *weight, int first, int count, const float *source)
{
    CLF__TRY(check_rows(weight, first, count));
    if (count == 0) {
        return CLF_OK;
    }
    CLF__TRY(weight->backend->write_rows(weight, first, count, source));
    return clf__weight_changed(weight);
}
