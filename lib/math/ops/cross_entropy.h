/* The loss of logits against labels, and its gradient, in one pass over the logits. */
#ifndef CLF_OPS_CROSS_ENTROPY_H
#define CLF_OPS_CROSS_ENTROPY_H

#include "math/tensor/tensor.h"

/* The target distribution of a row: 1 - smoothing on its label, `share` on every other class except
 * hidden_class, which gets 0 (Szegedy et al. 2016, section 7). Rows with label -1 are ignored. */
struct clf__smoothing {
    float smoothing;
    float share;
    int hidden_class; /* -1: none */
};

/* Per row with distribution q: losses[r] = { -sum_v q[v] log softmax(logits[r])[v], -log
 * softmax(logits[r])[label] }, zeros for ignored rows. dlogits = scale * (softmax(logits) * sum q - q),
 * also zeros for ignored rows; may be logits; buffer NULL: compute only the losses. */
clf_status clf__cross_entropy(struct clf__tensor losses,  /* (R, 2) */
                              struct clf__tensor dlogits, /* (R, V) */
                              struct clf__tensor logits,  /* (R, V) */
                              struct clf__tensor labels,  /* (1, R) i32 */
                              const struct clf__smoothing *smoothing, float scale);

#endif
