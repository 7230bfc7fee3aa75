/* Softmax over rows. */
#ifndef CLF_OPS_SOFTMAX_H
#define CLF_OPS_SOFTMAX_H

#include "math/tensor/tensor.h"

/* y[n] = exp(x[n] - max) / sum; a row with only -inf gives zeros, never NaN; y may be x. */
clf_status clf__softmax_forward(struct clf__tensor y,  /* (N, C) */
                                struct clf__tensor x); /* (N, C) */

/* y[n] = (x[n] - max) - log(sum exp(x[n] - max)); y may be x. */
clf_status clf__log_softmax_forward(struct clf__tensor y,  /* (N, C) */
                                    struct clf__tensor x); /* (N, C) */

/* picked[n] = log_softmax(x[n])[targets[n]], without storing an (N, C) matrix. */
clf_status clf__log_softmax_pick(struct clf__tensor picked,   /* (1, N) */
                                 struct clf__tensor x,        /* (N, C) */
                                 struct clf__tensor targets); /* (1, N) i32 */

#endif
