/* The contract of lib/ops/log_mel.h in double, by the sums as they are written. */
#ifndef CLF_BENCH_REFERENCE_LOG_MEL_H
#define CLF_BENCH_REFERENCE_LOG_MEL_H

/* y (bands) of the frame whose middle is sample `middle`; filters (bands, 201). */
void reference_log_mel(double *y, const float *samples, int count, long middle, const double *filters,
                       int bands);

#endif
