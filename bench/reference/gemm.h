/* GEMM in double precision, element by element. */
#ifndef CLF_BENCH_REFERENCE_GEMM_H
#define CLF_BENCH_REFERENCE_GEMM_H

#include <stddef.h>

#include "math/gemm/gemm.h"

double reference_activation(enum clf__activation kind, double v);

/* Computes one row of a linear layer: y (outputs) = activation(scale * (x (inputs) Wᵀ) + bias) + residual; W
 * (outputs, inputs) row-major; bias and residual may be NULL. */
void reference_gemm_row(double *y, const float *x, const float *w, int outputs, int inputs, double scale,
                        const float *bias, enum clf__activation kind, const float *residual);

/* Compute the gradients of y = scale * x Wᵀ: dx (rows, inputs) = scale * dy (rows, outputs) W + residual (may
 * be NULL), and dw (outputs, inputs) += dyᵀ x. */
void reference_input_gradient(double *dx, const float *dy, const float *w, int rows, int outputs, int inputs,
                              double scale, const float *residual);
void reference_weight_gradient(double *dw, const float *dy, const float *x, int rows, int outputs,
                               int inputs);

/* Rounds to the nearest number of a 16-bit precision, ties to even; fp32 is unchanged. */
float reference_round(enum clf__precision precision, float value);

/* Returns alpha times the sum over k of a[k * a_step] b[k * b_step]. */
double reference_dot(const float *a, size_t a_step, const float *b, size_t b_step, int k, double alpha);

#endif
