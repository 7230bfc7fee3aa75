/* Where the norm of a residual sub-layer goes: before it (x + f(norm(x))) or behind it (norm(x + f(x))). */
#ifndef CLF_LAYERS_SUBLAYER_H
#define CLF_LAYERS_SUBLAYER_H

#include "layers/norm.h"
#include "layers/workspace.h"

/* Between begin and end the sub-layer reads x and writes f(x) + workspace->x to y. */
struct clf__sublayer {
    const struct clf__norm *norm;
    int norm_first;
    struct clf__tensor x, y;
};

clf_status clf__sublayer_begin(struct clf__sublayer *sublayer, const struct clf__norm *norm, int norm_first,
                               const struct clf__workspace *workspace);
clf_status clf__sublayer_end(const struct clf__sublayer *sublayer, const struct clf__workspace *workspace);

#endif
