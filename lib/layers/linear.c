#include "layers/linear.h"

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

clf_status clf__linear_create(struct clf__linear *out, struct clf_device *device,
                              const struct clf__weight_source *source, const float *bias)
{
    struct clf__weight *weight;
    CLF__TRY(clf__weight_create(&weight, device, source));
    clf_status status = clf__linear_create_shared(out, device, weight, bias, source->what);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    out->weight_is_shared = 0;
    return CLF_OK;
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

void clf__linear_free(struct clf__linear *linear)
{
    if (!linear->weight_is_shared) {
        clf__weight_free(linear->weight);
    }
    clf__buffer_free(linear->bias);
    *linear = (struct clf__linear){.scale = 1.0f};
}

clf_status clf__linear_forward(struct clf__tensor y, struct clf__tensor x, const struct clf__linear *linear,
                               enum clf__activation activation, struct clf__tensor residual)
{
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = linear->scale;
    epilogue.bias = linear->bias;
    epilogue.activation = activation;
    if (residual.buffer != NULL) {
        epilogue.residual = clf__tensor_matrix(residual);
    }
    return clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(x), x.rows, linear->weight, &epilogue);
}
