/* One encoder layer: self-attention, then feed-forward, each with its residual and norm. */
#ifndef CLF_LAYERS_ENCODER_LAYER_H
#define CLF_LAYERS_ENCODER_LAYER_H

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"
#include "layers/sublayer.h"

struct clf__encoder_layer {
    struct clf__attention_layer self_attention;
    struct clf__norm self_attention_norm;
    struct clf__feed_forward feed_forward;
    struct clf__norm feed_forward_norm;
    int norm_first; /* x + f(norm(x)), else norm(x + f(x)) */
};

/* workspace->x is what goes in and what comes out. With the norms after the sub-layers, workspace->rounded
 * goes with it. */
clf_status clf__encoder_layer_forward(const struct clf__encoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__attention_call *self_call);

/* What the backward pass reads; feed_forward_sums.y is what comes out. */
struct clf__encoder_layer_record {
    struct clf__attention_record self_attention;
    struct clf__sublayer_record self_attention_sums;
    struct clf__tensor hidden; /* of the feed-forward */
    struct clf__sublayer_record feed_forward_sums;
};
clf_status clf__encoder_layer_record_reserve(struct clf__encoder_layer_record *record,
                                             struct clf__arena *arena, const struct clf__encoder_layer *layer,
                                             int rows);
struct clf__encoder_layer_record
clf__encoder_layer_record_rows(const struct clf__encoder_layer_record *record, int rows);

struct clf__encoder_layer_training {
    struct clf__attention_training self_attention;
    struct clf__feed_forward_training feed_forward;
};

/* The layer over x, with a record. */
clf_status clf__encoder_layer_record(const struct clf__encoder_layer *layer, struct clf__tensor x,
                                     const struct clf__encoder_layer_record *record,
                                     const struct clf__gradient_workspace *workspace,
                                     const struct clf__encoder_layer_training *training);
/* workspace->x is the gradient of what came out, then that of x. */
clf_status clf__encoder_layer_backward(const struct clf__encoder_layer *gradient,
                                       const struct clf__encoder_layer *layer, struct clf__tensor x,
                                       const struct clf__encoder_layer_record *record,
                                       const struct clf__gradient_workspace *workspace,
                                       const struct clf__encoder_layer_training *training);

#endif
