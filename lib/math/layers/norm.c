#include "math/layers/norm.h"

#include "math/layers/linear.h"

clf_status clf__norm_create(struct clf__norm *out, struct clf_device *device, enum clf__norm_kind kind,
                            float epsilon, int width, const float *gamma, const float *beta, const char *what)
{
    struct clf__tensor vector = clf__tensor_floats(NULL, 1, width);
    *out = (struct clf__norm){.gamma = vector, .beta = vector, .kind = kind, .epsilon = epsilon};
    CLF__TRY(clf__buffer_from_host(&out->gamma.buffer, device, gamma, (size_t)width, what));
    if (beta == NULL) {
        return CLF_OK;
    }
    clf_status status = clf__buffer_from_host(&out->beta.buffer, device, beta, (size_t)width, what);
    if (status != CLF_OK) {
        clf__norm_free(out);
    }
    return status;
}

clf_status clf__norm_reserve_zero(struct clf__norm *out, struct clf__pool *pool, const struct clf__norm *like,
                                  const char *what)
{
    size_t bytes = clf__buffer_bytes(like->gamma.buffer);
    *out = *like;
    out->gamma.buffer = out->beta.buffer = NULL;
    CLF__TRY(clf__pool_reserve(&out->gamma.buffer, pool, bytes, what));
    return like->beta.buffer != NULL ? clf__pool_reserve(&out->beta.buffer, pool, bytes, what) : CLF_OK;
}

void clf__norm_free(struct clf__norm *norm)
{
    clf__buffer_free(norm->gamma.buffer);
    clf__buffer_free(norm->beta.buffer);
    *norm = (struct clf__norm){.epsilon = 0};
}

clf_status clf__norm_forward(struct clf__tensor y, struct clf__tensor x, const struct clf__norm *norm)
{
    return clf__norm_forward_rounded(y, CLF__NO_TENSOR, x, norm);
}

clf_status clf__norm_forward_rounded(struct clf__tensor y, struct clf__tensor rounded, struct clf__tensor x,
                                     const struct clf__norm *norm)
{
    return clf__layernorm_forward(y, rounded, x, norm->gamma, norm->beta, norm->kind, norm->epsilon);
}

clf_status clf__norm_backward(struct clf__tensor dx, const struct clf__norm *gradient, struct clf__tensor dy,
                              struct clf__tensor x, const struct clf__norm *norm, struct clf__tensor scratch)
{
    return clf__layernorm_backward(dx, gradient->gamma, gradient->beta, dy, x, norm->gamma, norm->kind,
                                   norm->epsilon, scratch);
}
