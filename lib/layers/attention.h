/* Multi-head attention with its projections (Vaswani 2017, 3.2.2). */
#ifndef CLF_LAYERS_ATTENTION_H
#define CLF_LAYERS_ATTENTION_H

#include "layers/linear.h"
#include "layers/workspace.h"
#include "ops/attention.h"

/* Self-attention stacks query, key and value in `input`; cross-attention has its query there, and key and
 * value in `memory`, which is applied once to the encoder's output. */
struct clf__attention_layer {
    struct clf__heads heads;
    struct clf__linear input;
    struct clf__linear memory; /* weight NULL in self-attention */
    struct clf__linear output;
};
void clf__attention_layer_free(struct clf__attention_layer *layer);

/* Widths of the stacked projections. */
int clf__self_projection_width(const struct clf__heads *heads);   /* H (2 K + d_v) */
int clf__memory_projection_width(const struct clf__heads *heads); /* H (K + d_v) */

/* y = Attention(x) + residual, over whole sequences. */
clf_status clf__self_attention_forward(struct clf__tensor y, /* (N, D) */
                                       struct clf__tensor x, /* (N, D) */
                                       struct clf__tensor residual, const struct clf__attention_layer *layer,
                                       const struct clf__workspace *workspace,
                                       const struct clf__attention_call *call);

/* The same for one new row a hypothesis: keys and values of x go into the history, then each row looks at its
 * own. */
clf_status clf__self_attention_step(struct clf__tensor y, /* (R, D) */
                                    struct clf__tensor x, /* (R, D) */
                                    struct clf__tensor residual, const struct clf__attention_layer *layer,
                                    const struct clf__workspace *workspace,
                                    const struct clf__attention_history *history);

/* y = Attention(x, memory) + residual. */
clf_status
clf__cross_attention_forward(struct clf__tensor y, /* (R, D) */
                             struct clf__tensor x, /* (R, D) */
                             struct clf__tensor residual, const struct clf__attention_layer *layer,
                             struct clf__tensor memory, /* (N, H (K + d_v)) projected keys and values */
                             const struct clf__workspace *workspace, const struct clf__attention_call *call);

#endif
