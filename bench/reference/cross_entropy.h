/* Label-smoothed cross-entropy in double precision, directly from the formulas of
 * lib/math/ops/cross_entropy.h. */
#ifndef CLF_BENCH_REFERENCE_CROSS_ENTROPY_H
#define CLF_BENCH_REFERENCE_CROSS_ENTROPY_H

#include <stdint.h>

#include "math/ops/cross_entropy.h"

/* Computes losses (rows, 2) and dlogits (rows, columns) of logits (rows, columns), packed. */
void reference_cross_entropy(double *losses, double *dlogits, const float *logits, const int32_t *labels,
                             int rows, int columns, const struct clf__smoothing *smoothing, double scale);

#endif
