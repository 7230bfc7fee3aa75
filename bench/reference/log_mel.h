/* Log-mel frames as specified in lib/math/ops/log_mel.h, in double precision, by direct summation. */
#ifndef CLF_BENCH_REFERENCE_LOG_MEL_H
#define CLF_BENCH_REFERENCE_LOG_MEL_H

/* Computes y (bands) of the frame centred at sample `middle`; filters (bands, 201). */
void reference_log_mel(double *y, const float *samples, int count, long middle, const double *filters,
                       int bands);

#endif
