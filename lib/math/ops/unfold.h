/* Unfolds the input windows of a convolution over time, one row per output row, which turns the
 * convolution into a matrix multiplication (im2col). */
#ifndef CLF_OPS_UNFOLD_H
#define CLF_OPS_UNFOLD_H

#include "math/tensor/tensor.h"

/* y[t][c * width + k] = x[t * step + k - width / 2][c]; zero if x has no such row. y must not be x. */
clf_status clf__unfold_forward(struct clf__tensor y, /* (N, width * C) */
                               struct clf__tensor x, /* (M, C) */
                               int width, int step);

/* dx[m][c] = the sum of dy[t][c * width + k] where t * step + k - width / 2 = m, k ascending: the gradient
 * of x. dx must not be dy. */
clf_status clf__unfold_backward(struct clf__tensor dx, /* (M, C) */
                                struct clf__tensor dy, /* (N, width * C) */
                                int width, int step);

#endif
