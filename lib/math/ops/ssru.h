/* The simpler simple recurrent unit (Kim et al. 2019, "From Research to Production and Back: Ludicrously
 * Fast Neural Machine Translation", 3.1), without its matrix multiplications. The forget gate f weighs the
 * previous cell, and 1 - f the new input z.
 *
 *     f = 1 / (1 + exp(-g))
 *     c_t = f c_(t-1) + (1 - f) z; c starts at 0
 *     y = max(c_t, 0) + residual */
#ifndef CLF_OPS_SSRU_H
#define CLF_OPS_SSRU_H

#include "math/tensor/tensor.h"

/* Runs one step of R hypotheses. Row r continues row parents[r] of `before`, or zeros if positions[r] is 0
 * or the parent is not a valid row; its c is stored in row cache_rows[r] of `next`, if that is a valid
 * row. */
clf_status clf__ssru_step(struct clf__tensor y,          /* (R, D); may be residual */
                          struct clf__tensor projected,  /* (R, 2 D): g, then z */
                          struct clf__tensor residual,   /* (R, D) */
                          struct clf__tensor next,       /* (cache rows, D); must not be `before` */
                          struct clf__tensor before,     /* (cache rows, D) */
                          struct clf__tensor cache_rows, /* (1, R) i32 */
                          struct clf__tensor parents,    /* (1, R) i32 */
                          struct clf__tensor positions); /* (1, R) i32 */

/* Processes whole sequences: sequence b has rows ranges[b][0] .. ranges[b][0] + ranges[b][1] - 1. Rows
 * outside every sequence are not written. */
clf_status clf__ssru_forward(struct clf__tensor y,         /* (N, D); may be residual */
                             struct clf__tensor projected, /* (N, 2 D) */
                             struct clf__tensor residual,  /* (N, D) */
                             struct clf__tensor ranges);   /* (sequences, 4) i32 */

#endif
