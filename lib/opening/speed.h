/* Measured GEMM rate of devices, with the kernels that models use, to choose between two of them. */
#ifndef CLF_OPENING_SPEED_H
#define CLF_OPENING_SPEED_H

#include <clformer/device.h>

/* Operations per second of a GEMM in fp32, as clf__speed_measure() stored them for this device and driver;
 * 0 if none is stored. Fails only for lack of memory. */
clf_status clf__speed_read(double *rate, const struct clf_device_info *info);

/* Measures the rate, in about a tenth of a second on a typical device, and stores it in the cache folder. */
clf_status clf__speed_measure(double *rate, struct clf_device *device);

#endif
