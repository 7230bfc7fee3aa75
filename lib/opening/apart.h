/* Numbers that keep the programs of devices that are open at once apart. */
#ifndef CLF_OPENING_APART_H
#define CLF_OPENING_APART_H

#include "device/device.h"

/* Gives the device, whose driver needs it (quirks.h), the least number that no other open one has; 0, the
 * first one's, changes no program. */
void clf__apart_enter(struct clf_device *device);
/* Its number is free again. Nothing is done for a device that has none. */
void clf__apart_leave(struct clf_device *device);

#endif
