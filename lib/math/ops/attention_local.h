/* Local attention within a window, and to the global tokens of the sequence (Guo et al. 2022, LongT5). */
#ifndef CLF_OPS_ATTENTION_LOCAL_H
#define CLF_OPS_ATTENTION_LOCAL_H

#include "math/ops/attention.h"

/* Computes y = softmax(scale * q kᵀ + bias) v over the keys in the window of each query and the global
 * tokens. A query that sees no key gets zeros. The call must have a window, and as many queries as keys per
 * sequence. The only supported mask is the relative bias; dropout, maps and weights are not supported.
 * Always uses the fused variant.
 *
 * The results of a sequence are bit-identical in every batch. No score matrix is stored. */
clf_status clf__attention_local_forward(struct clf__tensor y, /* (rows, H * value_width) */
                                        struct clf__tensor q, /* (rows, H * K) */
                                        struct clf__tensor k, /* (rows, H * K) */
                                        struct clf__tensor v, /* (rows, H * value_width) */
                                        const struct clf__attention_call *call);

#endif
