/* Measures one peak rate; clf_device_measure_peaks() measures all. */
#ifndef CLF_OPEN_PEAK_H
#define CLF_OPEN_PEAK_H

#include <clformer/device.h>

/* Measures the bytes per second of uncached reads, averaged over at least `seconds`. Compare work of
 * similar duration with this rate; the peak is the best of short launches. */
clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes);

#endif
