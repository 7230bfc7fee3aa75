/* A peak by itself, for what is measured beside it; all of them: clf_device_measure_peaks(). */
#ifndef CLF_OPENING_PEAK_H
#define CLF_OPENING_PEAK_H

#include <clformer/device.h>

/* Bytes a second of a stream read from memory that no cache holds, over at least so many seconds: beside work
 * that lasts as long, which never has the best moments alone, as the peak has. */
clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes);

#endif
