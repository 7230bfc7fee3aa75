/* One peak, to compare other measurements with; clf_device_measure_peaks() measures all. */
#ifndef CLF_OPENING_PEAK_H
#define CLF_OPENING_PEAK_H

#include <clformer/device.h>

/* Bytes per second of reading memory that no cache holds, as an average over at least this many seconds.
 * For work of similar length, while the peak is the best short moment. */
clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes);

#endif
