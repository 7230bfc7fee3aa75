/* Adam and AdamW in double precision, as defined in lib/math/ops/adam.h. */
#ifndef CLF_BENCH_REFERENCE_ADAM_H
#define CLF_BENCH_REFERENCE_ADAM_H

#include <stddef.h>

#include "math/ops/adam.h"

void reference_adam(double *w, double *m, double *v, const float *dw, size_t n, const struct clf__adam *adam);

#endif
