/* The gradients of GEMMs with weights: dispatch to the backends. */
#include <limits.h>

#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "math/gemm/gemm.h"
#include "runtime/device/caps.h"

/* Checks the operands of a gradient of y = scale * x Wᵀ: dy, and x or dx. */
static clf_status check(const struct clf__weight *weight, struct clf__matrix dy, const char *what,
                        struct clf__matrix x, int rows)
{
    if (rows < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM gradient: invalid row count %d", rows);
    }
    if (weight->precision != CLF__PRECISION_FP32 || dy.precision != CLF__PRECISION_FP32 ||
        x.precision != CLF__PRECISION_FP32) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "GEMM gradient: precisions %d (weight), %d (gradient of the result) and %d "
                         "(operand); all must be fp32",
                         (int)weight->precision, (int)dy.precision, (int)x.precision);
    }
    CLF__TRY(clf__gemm_check_matrix("gradient of the result", dy, 0, rows, weight->outputs));
    return clf__gemm_check_matrix(what, x, 0, rows, weight->inputs);
}

clf_status clf__gemm_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                    const struct clf__weight *weight, float scale,
                                    struct clf__matrix residual)
{
    if (rows == 0) {
        return CLF_OK;
    }
    CLF__TRY(check(weight, dy, "gradient of the operand", dx, rows));
    if (residual.buffer) {
        if (residual.precision != CLF__PRECISION_FP32) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "GEMM gradient: the residual has precision %d; it must be fp32",
                             (int)residual.precision);
        }
        CLF__TRY(clf__gemm_check_matrix("residual", residual, 0, rows, weight->inputs));
    }
    return weight->backend->input_gradient(dx, dy, rows, weight, scale, residual);
}

clf_status clf__gemm_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                                     int rows, float scale)
{
    if (rows == 0) {
        return CLF_OK;
    }
    CLF__TRY(check(dweight, dy, "operand", x, rows));
    return dweight->backend->weight_gradient(dweight, dy, x, rows, scale);
}

clf_status clf__gemm_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                       enum clf__precision precision)
{
    if (precision != CLF__PRECISION_FP32 && precision != CLF__PRECISION_BF16) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM gradient: precision %d is not supported", (int)precision);
    }
    if (rows < 1 || outputs < 1 || inputs < 1) {
        return CLF_OK;
    }
    if (!clf__has_bf16_gemm(device)) {
        precision = CLF__PRECISION_FP32; /* as clf__weight_multiply_in() does */
    }
    return clf__gemm_backend_of(device, CLF__PRECISION_FP32)
        ->reserve_gradients(device, rows, outputs, inputs, precision);
}
