/* Measures the sustained read rate; clf_device_measure_peaks() measures peak rates. */
#ifndef CLF_OPEN_PEAK_H
#define CLF_OPEN_PEAK_H

#include <clformer/device.h>

/* Measures the bytes per second of uncached reads, averaged over at least `least_seconds`: a reference for
 * work of similar duration, whereas the peak is the best of short launches. */
clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes);

#endif
