/* Average attention (Zhang, Xiong and Su 2018, "Accelerating Neural Transformer via an Average Attention
 * Network", 3), without its matrix multiplications: each row is replaced by the mean of its sequence up to
 * and including the row, and two gates weigh the row and the transformed mean h.
 *
 *     m_t = (t m_(t-1) + x_t) / (t + 1), t = 0, 1, ...
 *     y = x / (1 + exp(-g)) + h / (1 + exp(-f)) + residual */
#ifndef CLF_OPS_AVERAGE_H
#define CLF_OPS_AVERAGE_H

#include "math/tensor/tensor.h"

enum { CLF__AVERAGE_MOST_FILTERS = 4 }; /* maximum matrix multiplications between m and h */

/* Runs one step of R hypotheses. Row r continues row parents[r] of `before`, or zeros if positions[r] (its
 * t) is 0 or the parent is not a valid row; its mean is also stored in row cache_rows[r] of `next`, if
 * that is a valid row. */
clf_status clf__average_step(struct clf__tensor m,          /* (R, D); may be x */
                             struct clf__tensor x,          /* (R, D) */
                             struct clf__tensor next,       /* (cache rows, D); must not be `before` */
                             struct clf__tensor before,     /* (cache rows, D) */
                             struct clf__tensor cache_rows, /* (1, R) i32 */
                             struct clf__tensor parents,    /* (1, R) i32 */
                             struct clf__tensor positions); /* (1, R) i32 */

/* Processes whole sequences: sequence b has rows ranges[b][0] .. ranges[b][0] + ranges[b][1] - 1. Rows
 * outside every sequence are not written. Rows are bit-identical to those of clf__average_step(). */
clf_status clf__average_forward(struct clf__tensor m,       /* (N, D); may be x */
                                struct clf__tensor x,       /* (N, D) */
                                struct clf__tensor ranges); /* (sequences, 4) i32 */

clf_status clf__average_gate(struct clf__tensor y,         /* (N, D); may be x, h or residual */
                             struct clf__tensor x,         /* (N, D) */
                             struct clf__tensor h,         /* (N, D) */
                             struct clf__tensor gates,     /* (N, 2 D): g and f side by side */
                             struct clf__tensor residual); /* (N, D) */

#endif
