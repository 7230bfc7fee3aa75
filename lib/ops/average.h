/* Average attention (Zhang, Xiong and Su 2018, "Accelerating Neural Transformer via an Average Attention
 * Network", 3), without its products: each row gives way to the mean of its sequence up to it, and two gates
 * weigh the row and what became of that mean.
 *
 *     m_t = (t m_(t-1) + x_t) / (t + 1), t from 0
 *     y = x / (1 + exp(-g)) + h / (1 + exp(-f)) + residual
 */
#ifndef CLF_OPS_AVERAGE_H
#define CLF_OPS_AVERAGE_H

#include "tensor/tensor.h"

enum { CLF__AVERAGE_MOST_FILTERS = 4 }; /* products between m and h */

/* One step of R hypotheses. Row r goes on from row parents[r] of `before`, from zeros where positions[r] (its
 * t) is 0 or the parent is no row; its mean becomes row cache_rows[r] of `next` too, where that is one. */
clf_status clf__average_step(struct clf__tensor m,          /* (R, D); may be x */
                             struct clf__tensor x,          /* (R, D) */
                             struct clf__tensor next,       /* (cache rows, D), not before */
                             struct clf__tensor before,     /* (cache rows, D) */
                             struct clf__tensor cache_rows, /* (1, R) i32 */
                             struct clf__tensor parents,    /* (1, R) i32 */
                             struct clf__tensor positions); /* (1, R) i32 */

/* Whole sequences: b is the rows ranges[b][0] .. ranges[b][0] + ranges[b][1] - 1. Rows of no sequence are not
 * written. A row has the bits that its step gives. */
clf_status clf__average_forward(struct clf__tensor m,       /* (N, D); may be x */
                                struct clf__tensor x,       /* (N, D) */
                                struct clf__tensor ranges); /* (sequences, 4) i32 */

clf_status clf__average_gate(struct clf__tensor y,         /* (N, D); may be x, h or residual */
                             struct clf__tensor x,         /* (N, D) */
                             struct clf__tensor h,         /* (N, D) */
                             struct clf__tensor gates,     /* (N, 2 D): g and f side by side */
                             struct clf__tensor residual); /* (N, D) */

#endif
