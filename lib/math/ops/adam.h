/* One step of Adam (Kingma & Ba 2015) or AdamW (Loshchilov & Hutter 2019), and the norm that clips its
 * gradient. */
#ifndef CLF_OPS_ADAM_H
#define CLF_OPS_ADAM_H

#include "math/tensor/tensor.h"

/* The coefficients of step t = 1, 2, ..., as in torch.optim. They are double, because in float 1 - beta2
 * would be wrong in the fifth digit. */
struct clf__adam {
    double rate; /* learning rate of this step */
    double beta1, beta2, epsilon;
    double correction1, correction2; /* 1 - beta1^t, 1 - beta2^t */
    double decay;                    /* AdamW: w -= rate * decay * w; 0: none */
    double coupled_decay;            /* Adam: dw += coupled_decay * w; 0: none */
    double gradient_scale;           /* factor of dw, applied first: clipping */
};

/* Updating part of an array gives the same bits as updating the whole array if the part starts at a
 * multiple of this number, and ends at such a multiple or at the end of the array. */
enum { CLF__ADAM_BLOCK = 4096 };

/* m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= rate * (m / correction1) / (sqrt(v /
 * correction2) + epsilon); dw becomes 0. All are (1, n), with the same order of elements. */
clf_status clf__adam_update(struct clf__tensor w, struct clf__tensor m, struct clf__tensor v,
                            struct clf__tensor dw, const struct clf__adam *adam);

/* Returns the number of partial sums of clf__sum_squares() for n numbers. */
int clf__sum_squares_parts(size_t n);

/* parts[i] = the sum of squares of block i of x; the blocks depend only on n. The host adds the parts in
 * order, in double. If a number is not finite, neither is the sum. */
clf_status clf__sum_squares(struct clf__tensor parts, /* (1, clf__sum_squares_parts(n)) */
                            struct clf__tensor x);    /* (1, n) */

#endif
