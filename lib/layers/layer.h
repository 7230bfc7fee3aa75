/* One layer of a stack: its mixer (self-attention), in the decoder attention to the encoder's memory,
 * feed-forward; each with its residual and norm. */
#ifndef CLF_LAYERS_LAYER_H
#define CLF_LAYERS_LAYER_H

#include "device/cost.h"
#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/front_end.h"
#include "layers/mixer.h"
#include "layers/norm.h"
#include "layers/relative_bias.h"
#include "layers/sublayer.h"

struct clf__layer {
    struct clf__mixer mixer;
    struct clf__relative_bias relative; /* the layer's own, in the place of the stack's */
    struct clf__norm mixer_norm;
    struct clf__attention_layer cross_attention; /* weights NULL in an encoder layer, and the norm's gamma */
    struct clf__norm cross_attention_norm;
    struct clf__feed_forward feed_forward;
    struct clf__norm feed_forward_norm;
    int norm_first; /* x + f(norm(x)), else norm(x + f(x)) */
};

/* What comes before the first layer of a step: the mixers' shared state follows the parents, and the rows are
 * made of the new tokens. */
struct clf__step_start {
    const struct clf__front_end *front_end;
    struct clf__tensor ids;       /* (1, R) i32 */
    struct clf__tensor table;     /* (P, D): of positions; buffer NULL: none */
    struct clf__tensor positions; /* (1, R) i32: the row of the table that each row adds */
};

struct clf__persistent;

/* What a layer looks at: whole sequences (`self_call`), or one step and what the layer keeps (`state`). */
struct clf__layer_call {
    const struct clf__attention_call *self_call;  /* NULL in a step */
    const struct clf__mixer_step *step;           /* NULL for whole sequences */
    const struct clf__mixer_state *state;         /* this layer's, for a step */
    const struct clf__attention_call *cross_call; /* NULL in the encoder */
    struct clf__tensor memory; /* this layer's projected keys and values of the encoder's output */
    /* For a step in one launch: */
    struct clf__tensor addresses; /* this layer's row of what clf__decoder_layers_store_addresses() wrote;
                                   * buffer NULL: a launch an op */
    struct clf__tensor counters;  /* (1, CLF__DECODER_COUNTERS(layers)) i32 of zeros */
    struct clf__persistent *persistent;  /* layers/persistent.h; NULL: no persistent launches */
    int layer;                           /* the number of this layer in it */
    const struct clf__step_start *start; /* of the first layer, where clf__decoder_layers_take_start() says
                                          * so; else NULL, and all is done */
};
#define CLF__DECODER_COUNTERS(layers) (16 * (3 + 48 * (layers)))

/* Numbers that say where the buffers of one layer are: 21 addresses of 8 bytes. */
enum { CLF__DECODER_ADDRESSES = 42 };

/* Writes where the layers' buffers are, so that a launch finds them; addresses->buffer becomes NULL where the
 * device or the layers take a launch an op. They hold as long as the buffers. */
clf_status
clf__decoder_layers_store_addresses(struct clf__tensor *addresses, /* (layers, CLF__DECODER_ADDRESSES) i32 */
                                    const struct clf__layer *layers,
                                    const struct clf__mixer_state *states, /* of each layer */
                                    const struct clf__tensor *memory /* as in the layer's call */);

/* A launch an op. workspace->x is what goes in and what comes out. With the norms after the sub-layers,
 * workspace->rounded goes with it. */
clf_status clf__layer_forward(const struct clf__layer *layer, const struct clf__workspace *workspace,
                              const struct clf__layer_call *call);

/* One decoder's layers, each with its call. workspace->x is what goes in and what comes out. Where the device
 * can, a step of few rows takes one launch for several layers (the same bits). */
clf_status clf__decoder_layers_forward(const struct clf__layer *layers, int count,
                                       const struct clf__workspace *workspace,
                                       const struct clf__layer_call *calls);

/* How many of these layers, from the first one on, go in one launch, which is a step's of few rows
 * (cl/layers/decoder_layer.cl): 0 where a launch an op is taken. */
int clf__decoder_layers_together(const struct clf__layer *layers, int count, int rows,
                                 const struct clf__layer_call *calls);
/* Whether that launch can begin with what comes before its first layer. */
int clf__decoder_layers_take_start(const struct clf__layer *layers, int count, int rows,
                                   const struct clf__layer_call *calls, const struct clf__step_start *start);
/* That launch of so many layers, each with its call. */
clf_status clf__decoder_layers_single(const struct clf__layer *layers, int count,
                                      const struct clf__workspace *workspace,
                                      const struct clf__layer_call *calls);

/* The products and attentions of a step of the layer. */
void clf__decoder_layer_add_cost(struct clf__cost *cost, const struct clf__layer *layer, int rows,
                                 const struct clf__layer_call *call);

/* What the backward pass reads; feed_forward_sums.y is what comes out. */
struct clf__layer_record {
    struct clf__mixer_record mixer;
    struct clf__sublayer_record mixer_sums;
    struct clf__attention_record cross_attention;
    struct clf__sublayer_record cross_attention_sums;
    struct clf__tensor hidden; /* of the feed-forward */
    struct clf__sublayer_record feed_forward_sums;
};
clf_status clf__layer_record_reserve(struct clf__layer_record *record, struct clf__arena *arena,
                                     const struct clf__layer *layer, int rows, int source_rows);
struct clf__layer_record clf__layer_record_rows(const struct clf__layer *layer,
                                                const struct clf__layer_record *record, int rows,
                                                int source_rows);

struct clf__layer_training {
    struct clf__attention_training mixer, cross_attention;
    struct clf__feed_forward_training feed_forward;
    struct clf__encoded encoded;
};

/* The layer over x, with a record. */
clf_status clf__layer_record(const struct clf__layer *layer, struct clf__tensor x,
                             const struct clf__layer_record *record,
                             const struct clf__gradient_workspace *workspace,
                             const struct clf__layer_training *training);
/* workspace->x is the gradient of what came out, then that of x. */
clf_status clf__layer_backward(const struct clf__layer *gradient, const struct clf__layer *layer,
                               struct clf__tensor x, const struct clf__layer_record *record,
                               const struct clf__gradient_workspace *workspace,
                               const struct clf__layer_training *training);

#endif
