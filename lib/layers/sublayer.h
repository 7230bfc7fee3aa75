/* Where the norm of a residual sub-layer goes: before it (x + f(norm(x))) or after it (norm(x + f(x))). */
#ifndef CLF_LAYERS_SUBLAYER_H
#define CLF_LAYERS_SUBLAYER_H

#include "layers/norm.h"
#include "layers/workspace.h"
#include "ops/dropout.h"

/* Between begin and end the sub-layer reads x and writes f(x) + workspace->x to y. Where the workspace has
 * rounded rows, x is in bf16; with the norm after it, begin expects them to be those of workspace->x, and end
 * leaves them so.
 */
struct clf__sublayer {
    const struct clf__norm *norm;
    int norm_first;
    struct clf__tensor x, y;
};

clf_status clf__sublayer_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm, int norm_first,
                               const struct clf__workspace *workspace);
clf_status clf__sublayer_end(const struct clf__sublayer *sublayer, const struct clf__workspace *workspace);

/* What the backward pass of a sub-layer reads besides its input, which is the output of the one before. */
struct clf__sublayer_record {
    struct clf__tensor inner; /* (N, D) norm first: norm(x), else x + f(x) */
    struct clf__tensor y;     /* (N, D) */
};
clf_status clf__sublayer_record_reserve(struct clf__sublayer_record *record, struct clf__arena *arena,
                                        int rows, int d_model);
struct clf__sublayer_record clf__sublayer_record_rows(const struct clf__sublayer_record *record, int rows);

/* The two above for training: f reads sublayer->x and writes f(x) + input to sublayer->y; what comes out is
 * record->y. */
clf_status clf__sublayer_record_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__sublayer_record *record);
clf_status clf__sublayer_record_end(const struct clf__sublayer *sublayer,
                                    const struct clf__sublayer_record *record);

/* Back through the norm: between begin and end stands f's backward pass, which gets `out`. workspace->x is
 * the gradient of what comes out, then of what went in. */
clf_status clf__sublayer_backward_begin(struct clf__branch *out, const struct clf__norm *gradient,
                                        const struct clf__norm *norm, int norm_first,
                                        const struct clf__sublayer_record *record,
                                        const struct clf__gradient_workspace *workspace);
clf_status clf__sublayer_backward_end(const struct clf__norm *gradient, const struct clf__norm *norm,
                                      int norm_first, struct clf__tensor input,
                                      const struct clf__gradient_workspace *workspace);

#endif
