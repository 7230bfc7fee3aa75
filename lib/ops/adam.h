/* One step of Adam (Kingma & Ba 2015) or AdamW (Loshchilov & Hutter 2019), and the norm that clips its
 * gradient. */
#ifndef CLF_OPS_ADAM_H
#define CLF_OPS_ADAM_H

#include "tensor/tensor.h"

/* For the t-th step, t = 1 ..: as torch.optim has them. In double, since 1 - beta2 of a float would be off in
 * its fifth digit. */
struct clf__adam {
    double rate; /* of learning, of this step */
    double beta1, beta2, epsilon;
    double correction1, correction2; /* 1 - beta1^t, 1 - beta2^t */
    double decay;                    /* AdamW: w -= rate * decay * w; 0: none */
    double coupled_decay;            /* Adam: dw += coupled_decay * w; 0: none */
    double gradient_scale;           /* of dw before anything else: clipping */
};

/* A part of arrays that begins at a multiple of so many numbers, and ends at one or with them, has the bits
 * that it has in the whole. */
enum { CLF__ADAM_STRETCH = 4096 };

/* m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w -= rate * (m / correction1) / (sqrt(v /
 * correction2) + epsilon); dw becomes 0. All are (1, n) in any order, the same for each. */
clf_status clf__adam_update(struct clf__tensor w, struct clf__tensor m, struct clf__tensor v,
                            struct clf__tensor dw, const struct clf__adam *adam);

/* How many partial sums clf__sum_squares() gives for n numbers. */
int clf__sum_squares_parts(size_t n);

/* parts[i] = the sum of squares of one stretch of x, whose place depends on n alone; the host adds them up in
 * double, in their order. A number that is not finite shows as a sum that is not. */
clf_status clf__sum_squares(struct clf__tensor parts, /* (1, clf__sum_squares_parts(n)) */
                            struct clf__tensor x);    /* (1, n) */

#endif
