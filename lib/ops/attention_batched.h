/* Attention as batched products around a masked softmax: the form behind clf__attention_forward() that holds
 * the whole score matrix, and so the one that can give the maps. */
#ifndef CLF_OPS_ATTENTION_BATCHED_H
#define CLF_OPS_ATTENTION_BATCHED_H

#include "ops/attention.h"

/* As clf__attention_forward(), at least one sequence and one query. */
clf_status clf__attention_batched_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                          struct clf__tensor v, const struct clf__attention_call *call);

#endif
