/* Normalisation in double precision, directly from the formulas of lib/math/ops/layernorm.h. */
#ifndef CLF_BENCH_REFERENCE_LAYERNORM_H
#define CLF_BENCH_REFERENCE_LAYERNORM_H

#include "math/ops/layernorm.h"

/* Normalises x to y (rows, columns), both packed; beta may be NULL. */
void reference_layernorm(double *y, const float *x, const float *gamma, const float *beta, int rows,
                         int columns, enum clf__norm_kind kind, double eps);

/* Overwrites dx, and adds to dgamma and dbeta, which may be NULL. */
void reference_layernorm_backward(double *dx, double *dgamma, double *dbeta, const float *dy, const float *x,
                                  const float *gamma, int rows, int columns, enum clf__norm_kind kind,
                                  double eps);

#endif
