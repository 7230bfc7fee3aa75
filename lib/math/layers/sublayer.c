#include "math/layers/sublayer.h"

clf_status clf__sublayer_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm, int norm_first,
                               const struct clf__workspace *workspace)
{
    sublayer->norm = norm;
    sublayer->norm_first = norm_first;
    sublayer->y = norm_first ? workspace->x : workspace->normed;
    if (!norm_first) {
        sublayer->x = clf__workspace_operand(workspace);
        return CLF_OK;
    }
    int is_rounded = workspace->rounded.buffer != NULL;
    struct clf__tensor normed = is_rounded ? CLF__NO_TENSOR : workspace->normed;
    sublayer->x = is_rounded ? workspace->rounded : workspace->normed;
    return clf__norm_forward_rounded(normed, workspace->rounded, workspace->x, norm);
}

clf_status clf__sublayer_end(const struct clf__sublayer *sublayer, const struct clf__workspace *workspace)
{
    return sublayer->norm_first ? CLF_OK
                                : clf__norm_forward_rounded(workspace->x, workspace->rounded,
                                                            workspace->normed, sublayer->norm);
}

clf_status clf__sublayer_record_reserve(struct clf__sublayer_record *record, struct clf__arena *arena,
                                        int rows, int d_model)
{
    CLF__TRY(clf__arena_reserve(arena, &record->inner, CLF__F32, rows, d_model, "a norm's rows"));
    return clf__arena_reserve(arena, &record->y, CLF__F32, rows, d_model, "a sub-layer's rows");
}

struct clf__sublayer_record clf__sublayer_record_rows(const struct clf__sublayer_record *record, int rows)
{
    return (struct clf__sublayer_record){.inner = clf__tensor_rows(record->inner, 0, rows),
                                         .y = clf__tensor_rows(record->y, 0, rows)};
}

clf_status clf__sublayer_record_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__sublayer_record *record)
{
    sublayer->norm = norm;
    sublayer->norm_first = norm_first;
    sublayer->x = norm_first ? record->inner : input;
    sublayer->y = norm_first ? record->y : record->inner;
    return norm_first ? clf__norm_forward(record->inner, input, norm) : CLF_OK;
}

clf_status clf__sublayer_record_end(const struct clf__sublayer *sublayer,
                                    const struct clf__sublayer_record *record)
{
    return sublayer->norm_first ? CLF_OK : clf__norm_forward(record->y, record->inner, sublayer->norm);
}

clf_status clf__sublayer_backward_begin(struct clf__branch *out, const struct clf__norm *gradient,
                                        const struct clf__norm *norm, int norm_first,
                                        const struct clf__sublayer_record *record,
                                        const struct clf__gradient_workspace *workspace)
{
    *out = (struct clf__branch){.dy = workspace->x, .dx = norm_first ? workspace->branch : workspace->x};
    if (norm_first) {
        return CLF_OK;
    }
    out->residual = workspace->x;
    return clf__norm_backward(workspace->x, gradient, workspace->x, record->inner, norm, workspace->scratch);
}

clf_status clf__sublayer_backward_end(const struct clf__norm *gradient, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__gradient_workspace *workspace)
{
    if (!norm_first) {
        return CLF_OK;
    }
    const struct clf__dropout none = CLF__NO_DROPOUT;
    CLF__TRY(
        clf__norm_backward(workspace->branch, gradient, workspace->branch, input, norm, workspace->scratch));
    return clf__dropout_forward(workspace->x, workspace->branch, workspace->x, &none);
}
