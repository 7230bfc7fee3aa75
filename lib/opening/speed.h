/* How fast devices multiply matrices by the kernels that models use, for the choice between two of them. */
#ifndef CLF_OPENING_SPEED_H
#define CLF_OPENING_SPEED_H

#include <clformer/device.h>

/* Operations a second of a product in fp32, as clf__speed_measure() kept them for this device and driver; 0
 * if it kept nothing. Fails only for lack of memory. */
clf_status clf__speed_read(double *rate, const struct clf_device_info *info);

/* Measures them, in about a tenth of a second on a device of a usual speed, and keeps them in the cache
 * folder. */
clf_status clf__speed_measure(double *rate, struct clf_device *device);

#endif
