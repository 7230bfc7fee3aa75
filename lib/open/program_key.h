/* Gives devices that are open at the same time different programs. */
#ifndef CLF_OPEN_PROGRAM_KEY_H
#define CLF_OPEN_PROGRAM_KEY_H

#include "runtime/device/device.h"

/* If the driver needs it (quirks.h), assigns the device the smallest number that no other open device has.
 * Number 0 does not change the programs. */
void clf__program_key_acquire(struct clf_device *device);
/* Releases the number of a device, if it has one. */
void clf__program_key_release(struct clf_device *device);

#endif
