/* The position-wise feed-forward network (Vaswani 2017, 3.3), gated or not (Shazeer 2020). */
#ifndef CLF_LAYERS_FEED_FORWARD_H
#define CLF_LAYERS_FEED_FORWARD_H

#include "math/layers/linear.h"
#include "math/layers/workspace.h"

struct clf__feed_forward {
    struct clf__linear up;   /* D to F; gated: D to 2 F, the activated half first */
    struct clf__linear down; /* F to D */
    enum clf__activation activation;
    int width; /* F */
    int gated;
};

/* Returns the activation in the epilogue of `up`; a gate applies its activation itself. */
static inline enum clf__activation clf__feed_forward_activation(const struct clf__feed_forward *layer)
{
    return layer->gated ? CLF__IDENTITY : layer->activation;
}
/* Returns the columns of workspace->hidden to which `up` writes, in the type that the next operation reads.
 */
struct clf__tensor clf__feed_forward_expanded(const struct clf__feed_forward *layer,
                                              const struct clf__workspace *workspace);
/* Sets *hidden to the input of `down` (N, F) in the workspace, after `up`. */
clf_status clf__feed_forward_gate(struct clf__tensor *hidden, const struct clf__feed_forward *layer,
                                  const struct clf__workspace *workspace);

/* y = down(activation(up(x))) + residual. */
clf_status clf__feed_forward_forward(struct clf__tensor y, /* (N, D) */
                                     struct clf__tensor x, /* (N, D) */
                                     struct clf__tensor residual, const struct clf__feed_forward *layer,
                                     const struct clf__workspace *workspace);

/* The dropouts in training, after the activation and after the output. */
struct clf__feed_forward_training {
    struct clf__dropout activation, output;
};

/* y = dropout(down(dropout(activation(up(x))))) + residual. hidden (N, F, or 2 F if gated) is the record
 * for the backward pass: up(x), or the activations if they suffice. */
clf_status clf__feed_forward_record(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                    const struct clf__feed_forward *layer, struct clf__tensor hidden,
                                    const struct clf__gradient_workspace *workspace,
                                    const struct clf__feed_forward_training *training);
clf_status clf__feed_forward_backward(const struct clf__branch *branch,
                                      const struct clf__feed_forward *gradient, struct clf__tensor x,
                                      const struct clf__feed_forward *layer, struct clf__tensor hidden,
                                      const struct clf__gradient_workspace *workspace,
                                      const struct clf__feed_forward_training *training);

#endif
