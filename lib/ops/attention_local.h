/* Attention within a window of each query, and to the global tokens of its sequence (Guo et al. 2022,
 * LongT5). */
#ifndef CLF_OPS_ATTENTION_LOCAL_H
#define CLF_OPS_ATTENTION_LOCAL_H

#include "ops/attention.h"

/* Per sequence b of ranges, head h and query i: the mean of the values of the keys that i sees, with weights
 * softmax(scale * q kᵀ + bias). A query that sees nothing gets zeros. The call has a window; the queries of a
 * sequence are its keys; of the masks it has the relative bias at most; dropout, maps and weights are not
 * supported. The form is fused whatever the caps say.
 *
 * Bits do not depend on what else is in the batch. Nothing is stored for pairs of a query and a key. */
clf_status clf__attention_local_forward(struct clf__tensor y, /* (rows, H * value_width) */
                                        struct clf__tensor q, /* (rows, H * K) */
                                        struct clf__tensor k, /* (rows, H * K) */
                                        struct clf__tensor v, /* (rows, H * value_width) */
                                        const struct clf__attention_call *call);

#endif
