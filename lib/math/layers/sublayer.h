/* The norm of a residual sub-layer: before it (pre-norm, x + f(norm(x))) or after it (post-norm, norm(x +
 * f(x))). */
#ifndef CLF_LAYERS_SUBLAYER_H
#define CLF_LAYERS_SUBLAYER_H

#include "math/layers/norm.h"
#include "math/layers/workspace.h"
#include "math/ops/dropout.h"

/* Between begin and end the sub-layer reads x and writes f(x) + workspace->x to y. If the workspace has
 * rounded rows, x is rounded; with post-norm, workspace->rounded must match workspace->x at begin, and
 * matches it again after end. */
struct clf__sublayer {
    const struct clf__norm *norm;
    int norm_first;
    struct clf__tensor x, y;
};

clf_status clf__sublayer_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm, int norm_first,
                               const struct clf__workspace *workspace);
clf_status clf__sublayer_end(const struct clf__sublayer *sublayer, const struct clf__workspace *workspace);

/* The record of a sub-layer for its backward pass. The input is not included: it is the output of the
 * previous sub-layer. */
struct clf__sublayer_record {
    struct clf__tensor inner; /* (N, D) pre-norm: norm(x); post-norm: x + f(x) */
    struct clf__tensor y;     /* (N, D) */
};
clf_status clf__sublayer_record_reserve(struct clf__sublayer_record *record, struct clf__arena *arena,
                                        int rows, int d_model);
struct clf__sublayer_record clf__sublayer_record_rows(const struct clf__sublayer_record *record, int rows);

/* Begin and end for training: f reads sublayer->x and writes f(x) + input to sublayer->y; record->y is the
 * output. */
clf_status clf__sublayer_record_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__sublayer_record *record);
clf_status clf__sublayer_record_end(const struct clf__sublayer *sublayer,
                                    const struct clf__sublayer_record *record);

/* The backward pass of the norm: the backward pass of f runs between begin and end and reads `out`.
 * workspace->x holds the gradient of the output, then the gradient of the input. */
clf_status clf__sublayer_backward_begin(struct clf__branch *out, const struct clf__norm *gradient,
                                        const struct clf__norm *norm, int norm_first,
                                        const struct clf__sublayer_record *record,
                                        const struct clf__gradient_workspace *workspace);
clf_status clf__sublayer_backward_end(const struct clf__norm *gradient, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__gradient_workspace *workspace);

#endif
