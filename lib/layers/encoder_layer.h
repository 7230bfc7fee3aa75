/* One encoder layer: self-attention, then feed-forward, each with its residual and norm. */
#ifndef CLF_LAYERS_ENCODER_LAYER_H
#define CLF_LAYERS_ENCODER_LAYER_H

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"

struct clf__encoder_layer {
    struct clf__attention_layer self_attention;
    struct clf__norm self_attention_norm;
    struct clf__feed_forward feed_forward;
    struct clf__norm feed_forward_norm;
    int norm_first; /* x + f(norm(x)), else norm(x + f(x)) */
};
void clf__encoder_layer_free(struct clf__encoder_layer *layer);

/* workspace->x is what goes in and what comes out. */
clf_status clf__encoder_layer_forward(const struct clf__encoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__attention_call *self_call);

#endif
