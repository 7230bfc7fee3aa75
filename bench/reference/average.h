/* Average attention in double precision, directly from the formulas of lib/math/ops/average.h. */
#ifndef CLF_BENCH_REFERENCE_AVERAGE_H
#define CLF_BENCH_REFERENCE_AVERAGE_H

/* Updates the mean `m` of t rows to the mean of t + 1 rows; x (columns) is the new row. */
void reference_average(double *m, const float *x, int t, int columns);

/* Computes one row y (columns); `gates` holds g and f (2 * columns). */
void reference_average_gate(double *y, const float *x, const float *h, const float *gates,
                            const float *residual, int columns);

#endif
