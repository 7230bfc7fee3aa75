#include "math/layers/linear.h"

#include "math/ops/bias.h"

clf_status clf__buffer_from_host(struct clf__buffer **out, struct clf_device *device, const float *values,
                                 size_t count, const char *what)
{
    struct clf__buffer *buffer;
    CLF__TRY(clf__buffer_create(&buffer, device, count * sizeof *values, what));
    clf_status status = clf__buffer_write(buffer, 0, count * sizeof *values, values);
    if (status != CLF_OK) {
        clf__buffer_free(buffer);
        return status;
    }
    *out = buffer;
    return CLF_OK;
}

/* Creates a layer that owns the weight. */
static clf_status own(struct clf__linear *out, struct clf_device *device, struct clf__weight *weight,
                      const float *bias, const char *what)
{
    clf_status status = clf__linear_create_shared(out, device, weight, bias, what);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    out->weight_is_shared = 0;
    return CLF_OK;
}

clf_status clf__linear_create(struct clf__linear *out, struct clf_device *device,
                              const struct clf__weight_source *source, const float *bias)
{
    struct clf__weight *weight;
    CLF__TRY(clf__weight_create(&weight, device, source));
    return own(out, device, weight, bias, source->what);
}

clf_status clf__linear_create_streamed(struct clf__linear *out, struct clf_device *device,
                                       const struct clf__weight_stream *stream, const float *bias)
{
    struct clf__weight *weight;
    CLF__TRY(clf__weight_create_streamed(&weight, device, stream));
    return own(out, device, weight, bias, stream->what);
}

clf_status clf__linear_create_shared(struct clf__linear *out, struct clf_device *device,
                                     struct clf__weight *weight, const float *bias, const char *what)
{
    *out = (struct clf__linear){.scale = 1.0f};
    if (bias != NULL) {
        CLF__TRY(clf__buffer_from_host(&out->bias, device, bias, (size_t)clf__weight_outputs(weight), what));
    }
    out->weight = weight;
    out->weight_is_shared = 1;
    return CLF_OK;
}

clf_status clf__linear_reserve_zero(struct clf__linear *out, struct clf__pool *pool,
                                    const struct clf__linear *like, struct clf__weight *shared,
                                    const char *what)
{
    *out = (struct clf__linear){.weight = shared, .scale = 1.0f, .weight_is_shared = shared != NULL};
    if (shared == NULL) {
        CLF__TRY(clf__weight_reserve_zero(&out->weight, pool, like->weight, what));
    }
    return like->bias != NULL ? clf__pool_reserve(&out->bias, pool, clf__buffer_bytes(like->bias), what)
                              : CLF_OK;
}

void clf__linear_free(struct clf__linear *linear)
{
    if (!linear->weight_is_shared) {
        clf__weight_free(linear->weight);
    }
    clf__buffer_free(linear->bias);
    *linear = (struct clf__linear){.scale = 1.0f};
}

enum clf__type clf__linear_operand(const struct clf__linear *linear)
{
    enum clf__precision precision = clf__gemm_operand(linear->weight);
    return precision == CLF__PRECISION_BF16   ? CLF__BF16
           : precision == CLF__PRECISION_FP16 ? CLF__F16
                                              : CLF__F32;
}

enum clf__type clf__linear_row_operand(const struct clf__linear *linear)
{
    return clf__gemm_row_operand(linear->weight) == CLF__PRECISION_INT8 ? CLF__QUANTIZED
                                                                        : clf__linear_operand(linear);
}

clf_status clf__linear_forward(struct clf__tensor y, struct clf__tensor x, const struct clf__linear *linear,
                               enum clf__activation activation, struct clf__tensor residual)
{
    const struct clf__epilogue epilogue = {.scale = linear->scale,
                                           .bias = linear->bias,
                                           .activation = activation,
                                           .residual = clf__tensor_matrix(residual)};
    return clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(x), x.rows, linear->weight, &epilogue);
}

clf_status clf__linear_backward(struct clf__tensor dx, const struct clf__linear *gradient,
                                struct clf__tensor dy, struct clf__tensor x, const struct clf__linear *linear,
                                struct clf__tensor residual, struct clf__tensor scratch)
{
    struct clf__matrix dy_matrix = clf__tensor_matrix(dy);
    if (gradient->bias != NULL) {
        struct clf__tensor dbias = clf__tensor_floats(gradient->bias, 1, dy.columns);
        CLF__TRY(clf__bias_backward(dbias, dy, 1.0f, scratch));
    }
    CLF__TRY(clf__gemm_weight_gradient(gradient->weight, dy_matrix, clf__tensor_matrix(x), dy.rows,
                                       linear->scale));
    if (dx.buffer == NULL) {
        return CLF_OK;
    }
    return clf__gemm_input_gradient(clf__tensor_matrix(dx), dy_matrix, dy.rows, linear->weight, linear->scale,
                                    clf__tensor_matrix(residual));
}

clf_status clf__linear_dropout_forward(struct clf__tensor y, struct clf__tensor x,
                                       const struct clf__linear *linear, struct clf__tensor residual,
                                       const struct clf__dropout *dropout)
{
    if (dropout->rate == 0.0f) {
        return clf__linear_forward(y, x, linear, CLF__IDENTITY, residual);
    }
    CLF__TRY(clf__linear_forward(y, x, linear, CLF__IDENTITY, CLF__NO_TENSOR));
    return clf__dropout_forward(y, y, residual, dropout);
}

clf_status clf__dropout_gradient(struct clf__tensor *out, struct clf__tensor kept, struct clf__tensor dy,
                                 const struct clf__dropout *dropout)
{
    *out = dropout->rate == 0.0f ? dy : kept;
    return dropout->rate == 0.0f ? CLF_OK : clf__dropout_backward(kept, dy, dropout);
}
