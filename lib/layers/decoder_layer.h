/* One decoder layer: self-attention, attention to the encoder's memory, feed-forward. */
#ifndef CLF_LAYERS_DECODER_LAYER_H
#define CLF_LAYERS_DECODER_LAYER_H

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"

struct clf__decoder_layer {
    struct clf__attention_layer self_attention;
    struct clf__norm self_attention_norm;
    struct clf__attention_layer cross_attention;
    struct clf__norm cross_attention_norm;
    struct clf__feed_forward feed_forward;
    struct clf__norm feed_forward_norm;
    int norm_first;
};
void clf__decoder_layer_free(struct clf__decoder_layer *layer);

/* What the two attentions of a layer look at: whole targets (`self_call`), or one step's history. */
struct clf__decoder_call {
    const struct clf__attention_call *self_call;  /* NULL in a step */
    const struct clf__attention_history *history; /* NULL for whole targets */
    const struct clf__attention_call *cross_call;
    struct clf__tensor memory;   /* this layer's projected keys and values of the encoder's output */
    struct clf__tensor counters; /* (1, CLF__DECODER_COUNTERS) i32 of zeros, for a step in one launch; buffer
                                  * NULL: a launch an op */
};
enum { CLF__DECODER_COUNTERS = 16 * 45 };

/* workspace->x is what goes in and what comes out. A step of few rows takes one launch where the device can
 * (the same bits). */
clf_status clf__decoder_layer_forward(const struct clf__decoder_layer *layer,
                                      const struct clf__workspace *workspace,
                                      const struct clf__decoder_call *call);

#endif
