/* Dropout (Srivastava et al. 2014) with a counter-based generator: masks are not stored, and the backward
 * pass recomputes them. */
#ifndef CLF_OPS_DROPOUT_H
#define CLF_OPS_DROPOUT_H

#include <stdint.h>

#include "math/tensor/tensor.h"

/* Element (row, column) is dropped if word column % 4 of Philox4x32-10 (Salmon et al. 2011) with counter {
 * column / 4, row, step, site } and key `seed` is below rate * 2^32. The other elements are multiplied by 1
 * / (1 - rate). */
struct clf__dropout {
    float rate;    /* probability of dropping an element, in [0, 1) */
    uint64_t seed; /* seed of the training run */
    uint32_t step; /* number of earlier forward passes */
    uint32_t site; /* index of the dropout in the model */
};
/* clang-format off */
#define CLF__NO_DROPOUT { .rate = 0.0f, .seed = 0, .step = 0, .site = 0 }
/* clang-format on */

/* y = residual + dropout(x). residual.buffer NULL: none; y may be x or residual. */
clf_status clf__dropout_forward(struct clf__tensor y,        /* (N, C) */
                                struct clf__tensor x,        /* (N, C) */
                                struct clf__tensor residual, /* (N, C) */
                                const struct clf__dropout *dropout);

/* dx = dropout(dy) with the same mask; dx may be dy. The gradient of the residual is dy. */
clf_status clf__dropout_backward(struct clf__tensor dx, /* (N, C) */
                                 struct clf__tensor dy, /* (N, C) */
                                 const struct clf__dropout *dropout);

#endif
