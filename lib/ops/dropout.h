/* Dropout (Srivastava et al. 2014) from a counter-based generator, so that a mask is never stored: the
 * backward pass computes it again. */
#ifndef CLF_OPS_DROPOUT_H
#define CLF_OPS_DROPOUT_H

#include <stdint.h>

#include "tensor/tensor.h"

/* Which elements are hidden: element (row, column) is where word column % 4 of Philox4x32-10 (Salmon et al.
 * 2011) with counter { column / 4, row, step, site } and key `seed` is below rate * 2^32. The others are
 * times 1 / (1 - rate). */
struct clf__dropout {
    float rate;    /* 0: nothing is hidden; below 1 */
    uint64_t seed; /* of the training run */
    uint32_t step; /* forward passes before this one */
    uint32_t site; /* which dropout of the model */
};
/* clang-format off */
#define CLF__NO_DROPOUT { .rate = 0.0f, .seed = 0, .step = 0, .site = 0 }
/* clang-format on */

/* y = residual + dropout(x). residual.buffer NULL: none; y may be x or residual. */
clf_status clf__dropout_forward(struct clf__tensor y,        /* (N, C) */
                                struct clf__tensor x,        /* (N, C) */
                                struct clf__tensor residual, /* (N, C) */
                                const struct clf__dropout *dropout);

/* dx = dropout(dy), the same elements hidden; dx may be dy. The residual's gradient is dy itself. */
clf_status clf__dropout_backward(struct clf__tensor dx, /* (N, C) */
                                 struct clf__tensor dy, /* (N, C) */
                                 const struct clf__dropout *dropout);

#endif
