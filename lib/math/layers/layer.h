/* One layer of a stack: a mixer (such as self-attention), in a decoder cross-attention, and a feed-forward
 * network, each with a residual connection and a norm. */
#ifndef CLF_LAYERS_LAYER_H
#define CLF_LAYERS_LAYER_H

#include "math/layers/attention.h"
#include "math/layers/feed_forward.h"
#include "math/layers/front_end.h"
#include "math/layers/mixer.h"
#include "math/layers/norm.h"
#include "math/layers/relative_bias.h"
#include "math/layers/sublayer.h"
#include "math/ops/arguments.h"
#include "runtime/device/cost.h"

struct clf__layer {
    struct clf__mixer mixer;
    struct clf__relative_bias relative; /* overrides the stack's relative bias */
    struct clf__norm mixer_norm;
    struct clf__attention_layer cross_attention; /* weights and the norm's gamma are NULL in an encoder
                                                  * layer */
    struct clf__norm cross_attention_norm;
    struct clf__feed_forward feed_forward;
    struct clf__norm feed_forward_norm;
    int norm_first; /* 1: pre-norm, x + f(norm(x)); 0: post-norm, norm(x + f(x)) */
};

/* The work before the first layer of a step: moves the shared mixer state from the parents to the new rows,
 * and embeds the new tokens. */
struct clf__step_start {
    const struct clf__front_end *front_end;
    struct clf__tensor ids;       /* (1, R) i32 */
    struct clf__tensor table;     /* (P, D): table of positions; buffer NULL: none */
    struct clf__tensor positions; /* (1, R) i32: the table row to add to each row */
};

struct clf__persistent;
struct clf__linear_pairs;

/* The inputs of a layer: whole sequences (`self_call`), or one step and the layer's cached `state`. */
struct clf__layer_call {
    const struct clf__attention_call *self_call;  /* NULL in a step */
    const struct clf__mixer_step *step;           /* NULL for whole sequences */
    const struct clf__mixer_state *state;         /* state of this layer, for a step */
    const struct clf__attention_call *cross_call; /* NULL in the encoder */
    struct clf__tensor memory; /* the projected keys and values of the encoder's output in this layer */
    /* For a step in a single launch: */
    struct clf__tensor addresses;       /* this layer's row of clf__decoder_layers_store_addresses(); buffer
                                         * NULL: one launch per op */
    struct clf__tensor counters;        /* (1, CLF__DECODER_COUNTERS(layers)) i32 of zeros */
    struct clf__persistent *persistent; /* math/layers/persistent.h; NULL: no persistent launches */
    int layer;                          /* index of this layer in `persistent` */
    struct clf__linear_pairs *pairs; /* math/layers/linear_pair.h; NULL: no launches of two linear layers */
    const struct clf__step_start *start; /* start of the step, for the first layer, if
                                          * clf__decoder_layers_take_start() returns 1; NULL: the start has
                                          * already run */
};
#define CLF__DECODER_COUNTERS(layers) (16 * (3 + 48 * (layers)))

/* The buffers of one layer: 21 addresses of 8 bytes. */
enum { CLF__DECODER_ADDRESSES = 42 };

/* Stores the addresses of the layers' buffers for single launches; addresses->buffer becomes NULL if the
 * device or the layers need one launch per op. Addresses are valid for the lifetime of the buffers. */
clf_status clf__decoder_layers_store_addresses(
    struct clf__tensor *addresses, /* (layers, CLF__DECODER_ADDRESSES) i32 */
    const struct clf__layer *layers, const struct clf__mixer_state *states, /* one per layer */
    const struct clf__tensor *memory /* `memory` of each layer's clf__layer_call */);

/* Returns the step of a call, with the layer's relative bias if it has one. */
static inline struct clf__mixer_step clf__layer_step(const struct clf__layer *layer,
                                                     const struct clf__layer_call *call)
{
    struct clf__mixer_step step = *call->step;
    step.relative = layer->relative.table.buffer != NULL ? layer->relative.table : step.relative;
    return step;
}

/* Runs a layer with one launch per op. workspace->x is input and output. With post-norm,
 * workspace->rounded holds the same rows, rounded. */
clf_status clf__layer_forward(const struct clf__layer *layer, const struct clf__workspace *workspace,
                              const struct clf__layer_call *call);

/* Runs a decoder's layers, layer i with calls[i]. workspace->x is input and output. If the device supports
 * it, a step of few rows runs several layers in one launch, with bit-identical results. */
clf_status clf__decoder_layers_forward(const struct clf__layer *layers, int count,
                                       const struct clf__workspace *workspace,
                                       const struct clf__layer_call *calls);

/* Returns how many of these layers, starting with the first, run in one launch
 * (cl/layers/decoder_layer.cl) for a step of few rows; 0: one launch per op. */
int clf__decoder_layers_together(const struct clf__layer *layers, int count, int rows,
                                 const struct clf__layer_call *calls);
/* Returns whether that launch can include the start of the step. */
int clf__decoder_layers_take_start(const struct clf__layer *layers, int count, int rows,
                                   const struct clf__layer_call *calls, const struct clf__step_start *start);
/* Runs `count` layers in one launch, layer i with calls[i]. */
clf_status clf__decoder_layers_single(const struct clf__layer *layers, int count,
                                      const struct clf__workspace *workspace,
                                      const struct clf__layer_call *calls);

/* Lists the arguments of both attentions of a step, which are the same for all layers, without splitting
 * keys. A row of q holds the queries, keys and values of self-attention, or the queries of cross-attention; y
 * and q start at offset 0. */
void clf__decoder_list_attentions(struct clf__attention_step_sizes *self, struct clf__attention_sizes *cross,
                                  const struct clf__heads *heads,
                                  const struct clf__attention_history *history,
                                  const struct clf__layer_call *call, int rows, int y_stride, int q_stride);

/* Lists the linear layers of a decoder layer: both of self-attention, of cross-attention and of the
 * feed-forward network. */
enum { CLF__DECODER_LINEARS = 6 };
void clf__decoder_layer_linears(const struct clf__linear *out[CLF__DECODER_LINEARS],
                                const struct clf__layer *layer);
/* Returns the precision of the weights of a decoder layer with self-attention. */
enum clf__precision clf__decoder_layer_precision(const struct clf__layer *layer);

/* Adds the cost of the GEMMs and attentions of a layer in a step. */
void clf__decoder_layer_add_cost(struct clf__cost *cost, const struct clf__layer *layer, int rows,
                                 const struct clf__layer_call *call);

/* The record of a layer for its backward pass; feed_forward_sums.y is the output. */
struct clf__layer_record {
    struct clf__mixer_record mixer;
    struct clf__sublayer_record mixer_sums;
    struct clf__attention_record cross_attention;
    struct clf__sublayer_record cross_attention_sums;
    struct clf__tensor hidden; /* record of the feed-forward */
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

/* Runs the layer over x and writes the record. */
clf_status clf__layer_record(const struct clf__layer *layer, struct clf__tensor x,
                             const struct clf__layer_record *record,
                             const struct clf__gradient_workspace *workspace,
                             const struct clf__layer_training *training);
/* Replaces the gradient of the output in workspace->x with the gradient of x. */
clf_status clf__layer_backward(const struct clf__layer *gradient, const struct clf__layer *layer,
                               struct clf__tensor x, const struct clf__layer_record *record,
                               const struct clf__gradient_workspace *workspace,
                               const struct clf__layer_training *training);

#endif
