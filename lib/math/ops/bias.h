/* The gradient of a bias; the epilogue of the GEMM adds the bias itself. */
#ifndef CLF_OPS_BIAS_H
#define CLF_OPS_BIAS_H

#include "math/tensor/tensor.h"

/* Returns the number of floats of scratch memory that clf__bias_backward() needs. */
size_t clf__bias_backward_scratch(int rows, int columns);

/* dbias += scale * the sum of dy over its rows. */
clf_status clf__bias_backward(struct clf__tensor dbias,                 /* (1, C) */
                              struct clf__tensor dy,                    /* (N, C) */
                              float scale, struct clf__tensor scratch); /* (1, n) */

#endif
