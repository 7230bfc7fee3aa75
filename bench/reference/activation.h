/* Derivatives of activations in double precision. */
#ifndef CLF_BENCH_REFERENCE_ACTIVATION_H
#define CLF_BENCH_REFERENCE_ACTIVATION_H

#include "math/gemm/gemm.h"

/* Returns the derivative at v; for ReLU, it is 0 at 0. */
double reference_activation_slope(enum clf__activation kind, double v);

#endif
