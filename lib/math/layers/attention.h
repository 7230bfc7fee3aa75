/* Multi-head attention with its projections (Vaswani 2017, 3.2.2). */
#ifndef CLF_LAYERS_ATTENTION_H
#define CLF_LAYERS_ATTENTION_H

#include "math/layers/linear.h"
#include "math/layers/workspace.h"
#include "math/ops/attention.h"

/* In self-attention, `input` stacks the query, key and value projections. In cross-attention, `input` is
 * the query projection, and `memory` stacks the key and value projections, which are applied once to the
 * encoder's output. */
struct clf__attention_layer {
    struct clf__heads heads;
    struct clf__linear input;
    struct clf__linear memory; /* weight NULL in self-attention */
    struct clf__linear output;
};

/* Return the widths of the stacked projections. */
int clf__self_projection_width(const struct clf__heads *heads);   /* H (2 K + d_v) */
int clf__memory_projection_width(const struct clf__heads *heads); /* H (K + d_v) */

/* Queries, keys and values: column views of stacked projections or of their gradients. */
struct clf__projected {
    struct clf__tensor query, key, value;
};

/* Splits the stacked projection of self-attention, (N, H (2 K + d_v)), into column views. */
struct clf__projected clf__split_self(struct clf__tensor all, const struct clf__heads *heads);

/* Returns the type in which the projection `input` should write queries, keys and values: the type to which
 * attention would round floats, if both support it, otherwise floats. */
enum clf__type clf__attention_operand(const struct clf__attention_layer *layer,
                                      const struct clf__attention_call *call);

/* Sets *context to attention's output (N, H d_v) in the workspace, in the type that the output projection
 * reads, from projected queries, keys and values. */
clf_status clf__attention_context(struct clf__tensor *context, const struct clf__projected *projected,
                                  const struct clf__attention_layer *layer,
                                  const struct clf__workspace *workspace,
                                  const struct clf__attention_call *call);
/* The same for cross-attention; the queries are the first columns of workspace->projected. */
clf_status clf__cross_attention_context(struct clf__tensor *context, const struct clf__attention_layer *layer,
                                        struct clf__tensor memory, /* (N, H (K + d_v)), f32 or f16 */
                                        const struct clf__workspace *workspace,
                                        const struct clf__attention_call *call);
/* Returns the columns of workspace->projected for the queries of cross-attention. */
struct clf__tensor clf__cross_attention_queries(const struct clf__attention_layer *layer,
                                                const struct clf__workspace *workspace);

/* Computes y = residual + the output of the layer, from projected queries, keys and values. Includes the
 * output projection. */
clf_status clf__attend(struct clf__tensor y,        /* (N, D) */
                       struct clf__tensor residual, /* (N, D) */
                       const struct clf__projected *projected, const struct clf__attention_layer *layer,
                       const struct clf__workspace *workspace, const struct clf__attention_call *call);

/* y = Attention(x, memory) + residual. */
clf_status clf__cross_attention_forward(
    struct clf__tensor y, /* (R, D) */
    struct clf__tensor x, /* (R, D) */
    struct clf__tensor residual, const struct clf__attention_layer *layer,
    struct clf__tensor memory, /* (N, H (K + d_v)) projected keys and values, f32 or f16 */
    const struct clf__workspace *workspace, const struct clf__attention_call *call);

/* The training arguments of one attention: `call` with the dropout of the weights, the dropout of the
 * output, and the gradient of a relative bias, which is accumulated (buffer NULL: none). */
struct clf__attention_training {
    struct clf__attention_call call;
    struct clf__dropout output;
    struct clf__tensor drelative;
};

/* The activations that the forward pass records for the backward pass. */
struct clf__attention_record {
    struct clf__tensor projected; /* (N, H (2 K + d_v)); cross-attention: (R, H K) */
    struct clf__tensor memory;    /* (N, H (K + d_v)) in cross-attention */
    struct clf__tensor context;   /* (N, H d_v) */
};
clf_status clf__attention_record_reserve(struct clf__attention_record *record, struct clf__arena *arena,
                                         const struct clf__attention_layer *layer, int rows, int source_rows);
struct clf__attention_record clf__attention_record_rows(const struct clf__attention_record *record, int rows,
                                                        int source_rows);

/* Like clf__attend(), with dropout and a record for the backward pass. The backward pass computes the
 * gradients of the projections. */
clf_status clf__attend_record(struct clf__tensor y, struct clf__tensor residual,
                              const struct clf__projected *projected,
                              const struct clf__attention_layer *layer,
                              const struct clf__attention_record *record,
                              const struct clf__attention_training *training);
clf_status clf__attend_backward(const struct clf__projected *gradients,
                                const struct clf__attention_layer *gradient, struct clf__tensor dy,
                                const struct clf__projected *projected,
                                const struct clf__attention_layer *layer,
                                const struct clf__attention_record *record,
                                const struct clf__gradient_workspace *workspace,
                                const struct clf__attention_training *training);

/* The encoder's output, to which every decoder layer attends, and its gradient, which is overwritten or
 * accumulated. */
struct clf__encoded {
    struct clf__tensor x;  /* (N, D) */
    struct clf__tensor dx; /* (N, D) */
    int adds;
};

/* y = dropout(Attention(x, encoded->x)) + residual, with a record, and its backward pass. */
clf_status clf__cross_attention_record(struct clf__tensor y, struct clf__tensor x,
                                       struct clf__tensor residual, const struct clf__encoded *encoded,
                                       const struct clf__attention_layer *layer,
                                       const struct clf__attention_record *record,
                                       const struct clf__attention_training *training);
clf_status clf__cross_attention_backward(const struct clf__branch *branch, const struct clf__encoded *encoded,
                                         const struct clf__attention_layer *gradient, struct clf__tensor x,
                                         const struct clf__attention_layer *layer,
                                         const struct clf__attention_record *record,
                                         const struct clf__gradient_workspace *workspace,
                                         const struct clf__attention_training *training);

#endif
