/* The simpler simple recurrent unit in double precision, directly from the formulas of lib/math/ops/ssru.h.
 */
#ifndef CLF_BENCH_REFERENCE_SSRU_H
#define CLF_BENCH_REFERENCE_SSRU_H

/* Computes one row y and updates the state `c` (columns); `projected` holds g and z (2 * columns). */
void reference_ssru(double *y, double *c, const float *projected, const float *residual, int columns);

#endif
