#include "math/layers/feed_forward.h"

#include "math/ops/activation.h"

struct clf__tensor clf__feed_forward_expanded(const struct clf__feed_forward *layer,
                                              const struct clf__workspace *workspace)
{
    return layer->gated ? clf__tensor_columns(workspace->hidden, 0, 2 * layer->width)
                        : clf__tensor_as(clf__tensor_columns(workspace->hidden, 0, layer->width),
                                         clf__linear_operand(&layer->down));
}

clf_status clf__feed_forward_gate(struct clf__tensor *hidden, const struct clf__feed_forward *layer,
                                  const struct clf__workspace *workspace)
{
    struct clf__tensor expanded = clf__feed_forward_expanded(layer, workspace);
    *hidden = clf__tensor_columns(expanded, 0, layer->width);
    return layer->gated ? clf__gate_forward(*hidden, *hidden,
                                            clf__tensor_columns(expanded, layer->width, layer->width),
                                            layer->activation)
                        : CLF_OK;
}

clf_status clf__feed_forward_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                     const struct clf__feed_forward *layer,
                                     const struct clf__workspace *workspace)
{
    struct clf__tensor hidden;
    CLF__TRY(clf__linear_forward(clf__feed_forward_expanded(layer, workspace), x, &layer->up,
                                 clf__feed_forward_activation(layer), CLF__NO_TENSOR));
    CLF__TRY(clf__feed_forward_gate(&hidden, layer, workspace));
    return clf__linear_forward(y, hidden, &layer->down, CLF__IDENTITY, residual);
}

/* Returns whether to record the activations instead of their inputs: ReLU's derivative follows from its
 * output; other activations need the input. */
static int records_activations(const struct clf__feed_forward *layer)
{
    return !layer->gated && (layer->activation == CLF__RELU || layer->activation == CLF__IDENTITY);
}

/* Return the two halves of a gated layer. */
static struct clf__tensor activated_half(struct clf__tensor hidden, const struct clf__feed_forward *layer)
{
    return clf__tensor_columns(hidden, 0, layer->width);
}

static struct clf__tensor gate_half(struct clf__tensor hidden, const struct clf__feed_forward *layer)
{
    return clf__tensor_columns(hidden, layer->width, layer->width);
}

/* Computes dropout(activation(up(x))) from the record, in both passes; *out is the record itself or a
 * tensor of the workspace. */
static clf_status activate(struct clf__tensor *out, const struct clf__feed_forward *layer,
                           struct clf__tensor hidden, const struct clf__gradient_workspace *workspace,
                           const struct clf__dropout *dropout)
{
    struct clf__tensor activated = clf__tensor_columns(workspace->activated, 0, layer->width);
    *out = records_activations(layer) ? hidden : activated;
    if (layer->gated) {
        CLF__TRY(clf__gate_forward(activated, activated_half(hidden, layer), gate_half(hidden, layer),
                                   layer->activation));
    } else if (!records_activations(layer)) {
        CLF__TRY(clf__activation_forward(activated, hidden, layer->activation));
    }
    if (dropout->rate > 0.0f) {
        CLF__TRY(clf__dropout_forward(activated, *out, CLF__NO_TENSOR, dropout));
        *out = activated;
    }
    return CLF_OK;
}

clf_status clf__feed_forward_record(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                    const struct clf__feed_forward *layer, struct clf__tensor hidden,
                                    const struct clf__gradient_workspace *workspace,
                                    const struct clf__feed_forward_training *training)
{
    struct clf__tensor activated;
    enum clf__activation fused = records_activations(layer) ? layer->activation : CLF__IDENTITY;
    CLF__TRY(clf__linear_forward(hidden, x, &layer->up, fused, CLF__NO_TENSOR));
    CLF__TRY(activate(&activated, layer, hidden, workspace, &training->activation));
    return clf__linear_dropout_forward(y, activated, &layer->down, residual, &training->output);
}

/* Computes the gradient of up(x) from the gradient of the activations (in the gate's half if there is
 * one), in place. */
static clf_status activate_backward(struct clf__tensor dhidden, struct clf__tensor dactivated,
                                    const struct clf__feed_forward *layer, struct clf__tensor hidden,
                                    const struct clf__dropout *dropout)
{
    if (dropout->rate > 0.0f) {
        CLF__TRY(clf__dropout_backward(dactivated, dactivated, dropout));
    }
    if (layer->gated) {
        return clf__gate_backward(activated_half(dhidden, layer), gate_half(dhidden, layer), dactivated,
                                  activated_half(hidden, layer), gate_half(hidden, layer), layer->activation);
    }
    return clf__activation_backward(dhidden, dactivated, hidden, layer->activation);
}

clf_status clf__feed_forward_backward(const struct clf__branch *branch,
                                      const struct clf__feed_forward *gradient, struct clf__tensor x,
                                      const struct clf__feed_forward *layer, struct clf__tensor hidden,
                                      const struct clf__gradient_workspace *workspace,
                                      const struct clf__feed_forward_training *training)
{
    struct clf__tensor doutput, activated;
    struct clf__tensor dhidden = clf__tensor_columns(workspace->hidden, 0, hidden.columns);
    struct clf__tensor dactivated = layer->gated ? gate_half(dhidden, layer) : dhidden;
    CLF__TRY(clf__dropout_gradient(&doutput, workspace->branch, branch->dy, &training->output));
    CLF__TRY(activate(&activated, layer, hidden, workspace, &training->activation));
    CLF__TRY(clf__linear_backward(dactivated, &gradient->down, doutput, activated, &layer->down,
                                  CLF__NO_TENSOR, workspace->scratch));
    CLF__TRY(activate_backward(dhidden, dactivated, layer, hidden, &training->activation));
    return clf__linear_backward(branch->dx, &gradient->up, dhidden, x, &layer->up, branch->residual,
                                workspace->scratch);
}
