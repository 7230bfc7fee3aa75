#include "math/gemm/gemm.h"

#include <limits.h>

#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"

enum clf__precision clf__gemm_operand(const struct clf__weight *weight)
{
    enum clf__precision precision = weight->precision;
    int reads_16_bits = (precision == CLF__PRECISION_BF16 || precision == CLF__PRECISION_FP16) &&
                        clf__activations_are_packed(weight->device, precision) &&
                        weight->inputs % clf__operand_multiple(weight->device) == 0;
    return reads_16_bits ? precision : CLF__PRECISION_FP32;
}

enum clf__precision clf__gemm_row_operand(const struct clf__weight *weight)
{
    int reads_quantized = weight->precision == CLF__PRECISION_INT8 && weight->backend == &clf__gemm_matrix;
    return reads_quantized ? CLF__PRECISION_INT8 : clf__gemm_operand(weight);
}

int clf__operand_multiple(const struct clf_device *device)
{
    return clf__caps_have_matrix(clf__device_caps(device)) ? CLF__MATRIX_INPUTS(CLF__PRECISION_FP16) : 2;
}

/* Returns whether operands in a precision other than fp32 are aligned as the kernels require. */
static int is_operand_aligned(struct clf__matrix x, const struct clf_device *device)
{
    int words = clf__caps_have_matrix(clf__device_caps(device)) ? CLF__WORD_HALVES : 2;
    return x.stride % words == 0 && x.offset % (size_t)words == 0;
}

/* Returns whether kernels exist for the precisions of x and y. */
static int are_readable(struct clf__matrix y, struct clf__matrix x, const struct clf__weight *weight)
{
    enum clf__precision operand = clf__gemm_row_operand(weight), rounded = weight->precision;
    int rounds = clf__activations_are_packed(weight->device, rounded) && rounded != CLF__PRECISION_INT8;
    return (x.precision == CLF__PRECISION_FP32 ||
            (x.precision == operand && is_operand_aligned(x, weight->device))) &&
           (y.precision == CLF__PRECISION_FP32 || (y.precision == rounded && rounds));
}

clf_status clf__gemm_weight(struct clf__matrix y, struct clf__matrix x, int rows,
                            const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    if (rows == 0) {
        return CLF_OK;
    }
    if (rows < 0 || clf__activation_define(epilogue->activation) == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM: invalid row count %d or activation %d", rows,
                         (int)epilogue->activation);
    }
    if (!are_readable(y, x, weight) || epilogue->residual.precision != CLF__PRECISION_FP32) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "GEMM: unsupported precisions %d (result) and %d (operand) for a weight in precision %d",
            (int)y.precision, (int)x.precision, (int)weight->precision);
    }
    CLF__TRY(clf__gemm_check_matrix("result", y, 0, rows, weight->outputs));
    int is_quantized = x.precision == CLF__PRECISION_INT8;
    CLF__TRY(clf__gemm_check_matrix("operand", x, 0, rows,
                                    is_quantized ? CLF__QUANTIZED_STRIDE(weight->inputs) : weight->inputs));
    if (epilogue->residual.buffer) {
        CLF__TRY(clf__gemm_check_matrix("residual", epilogue->residual, 0, rows, weight->outputs));
    }
    if (epilogue->bias) {
        struct clf__matrix bias = {.buffer = epilogue->bias, .stride = weight->outputs};
        CLF__TRY(clf__gemm_check_matrix("bias", bias, 0, 1, weight->outputs));
    }
    if (clf__weight_reads_copy(weight)) { /* creates the copy if there is none; does not change the weight */
        CLF__TRY(clf__weight_prepare((struct clf__weight *)weight));
        weight = weight->rounded;
    }
    return clf__gemm_multiply(y, x, rows, weight, epilogue);
}

static clf_status check_batch(const char *what, struct clf__batched_matrix matrix, int batches, int rows,
                              int columns)
{
    if (rows == 0 || columns == 0) {
        return CLF_OK;
    }
    size_t last = (size_t)(batches - 1) * matrix.batch_stride;
    if (matrix.batch_stride > INT_MAX || last > SIZE_MAX / 4) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "batched GEMM: the matrices of the %s are %zu elements apart; at most %d is supported", what,
            matrix.batch_stride, INT_MAX);
    }
    return clf__gemm_check_matrix(what, matrix.matrix, last, rows, columns);
}

clf_status clf__gemm_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                             struct clf__batched_matrix b, const struct clf__batched_shape *shape)
{
    if (shape->batches < 0 || shape->m < 0 || shape->n < 0 || shape->k < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "batched GEMM: invalid sizes: %d matrices (%d, %d) and (%d, %d)",
                         shape->batches, shape->m, shape->k, shape->k, shape->n);
    }
    if (shape->batches == 0 || shape->m == 0 || shape->n == 0) {
        return CLF_OK;
    }
    CLF__TRY(check_batch("result", c, shape->batches, shape->m, shape->n));
    CLF__TRY(check_batch("first operand", a, shape->batches, shape->m, shape->k));
    CLF__TRY(shape->transpose_b ? check_batch("second operand", b, shape->batches, shape->n, shape->k)
                                : check_batch("second operand", b, shape->batches, shape->k, shape->n));
    struct clf_device *device = clf__buffer_device(c.matrix.buffer);
    return clf__gemm_backend_of(device, CLF__PRECISION_FP32)->multiply_batched(c, a, b, shape);
}
