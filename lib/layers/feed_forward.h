/* The position-wise feed-forward network (Vaswani 2017, 3.3), gated or not (Shazeer 2020). */
#ifndef CLF_LAYERS_FEED_FORWARD_H
#define CLF_LAYERS_FEED_FORWARD_H

#include "layers/linear.h"
#include "layers/workspace.h"

struct clf__feed_forward {
    struct clf__linear up;   /* D to F; gated: D to 2 F, the activated half first */
    struct clf__linear down; /* F to D */
    enum clf__activation activation;
    int width; /* F */
    int gated;
};
void clf__feed_forward_free(struct clf__feed_forward *layer);

/* y = down(activation(up(x))) + residual. */
clf_status clf__feed_forward_forward(struct clf__tensor y, /* (N, D) */
                                     struct clf__tensor x, /* (N, D) */
                                     struct clf__tensor residual, const struct clf__feed_forward *layer,
                                     const struct clf__workspace *workspace);

#endif
