#include "layers/feed_forward.h"

#include "ops/activation.h"

void clf__feed_forward_free(struct clf__feed_forward *layer)
{
    clf__linear_free(&layer->up);
    clf__linear_free(&layer->down);
}

clf_status clf__feed_forward_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                     const struct clf__feed_forward *layer,
                                     const struct clf__workspace *workspace)
{
    const struct clf__tensor no_residual = {.buffer = NULL};
    struct clf__tensor hidden = clf__tensor_columns(workspace->hidden, 0, layer->width);
    if (layer->gated) {
        struct clf__tensor both = clf__tensor_columns(workspace->hidden, 0, 2 * layer->width);
        struct clf__tensor gate = clf__tensor_columns(both, layer->width, layer->width);
        CLF__TRY(clf__linear_forward(both, x, &layer->up, CLF__IDENTITY, no_residual));
        CLF__TRY(clf__gate_forward(hidden, hidden, gate, layer->activation));
    } else {
        if (clf__gemm_operand(layer->down.weight) == CLF_PRECISION_BF16 && layer->width % 2 == 0) {
            hidden = clf__tensor_bf16(hidden); /* as the second product would round it */
        }
        CLF__TRY(clf__linear_forward(hidden, x, &layer->up, layer->activation, no_residual));
    }
    return clf__linear_forward(y, hidden, &layer->down, CLF__IDENTITY, residual);
}
