/* One peak, for comparing other measurements with it; clf_device_measure_peaks() measures all. */
#ifndef CLF_OPENING_PEAK_H
#define CLF_OPENING_PEAK_H

#include <clformer/device.h>

/* Bytes a second of a stream read from memory that no cache holds, over at least so many seconds, for work
 * that lasts as long: unlike the peak, it is not that of the best moment. */
clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes);

#endif
