/* Measures the GEMM rate of devices, to choose between two of them. */
#ifndef CLF_OPEN_SPEED_H
#define CLF_OPEN_SPEED_H

#include <clformer/device.h>

/* Reads the operations per second of an fp32 GEMM that clf__speed_measure() stored for this device and
 * driver; 0 if none is stored. Fails only if memory is exhausted. */
clf_status clf__speed_read(double *rate, const struct clf_device_info *info);

/* Measures the rate, in about a tenth of a second on a typical device, and stores it in the cache folder. */
clf_status clf__speed_measure(double *rate, struct clf_device *device);

#endif
