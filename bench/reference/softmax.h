/* Softmax in double precision, directly from the formulas of lib/math/ops/softmax.h. */
#ifndef CLF_BENCH_REFERENCE_SOFTMAX_H
#define CLF_BENCH_REFERENCE_SOFTMAX_H

/* Compute y from x (rows, columns), both packed. */
void reference_softmax(double *y, const float *x, int rows, int columns);
void reference_log_softmax(double *y, const float *x, int rows, int columns);

#endif
