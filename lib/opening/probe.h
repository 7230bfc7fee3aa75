/* The first small kernel on a device. */
#ifndef CLF_OPENING_PROBE_H
#define CLF_OPENING_PROBE_H

#include "base/status.h"

struct clf_device;

/* Runs cl/<program>.cl, "probe", in the device's form; CLF_DEVICE when the answer is not the known one.
 * *instructions receives what the kernel found of the processor that it ran on, a sum of values of
 * tuning/levels.h. Where the device's options let its level be amx, the kernel asks the system for tiles. */
clf_status clf__probe(struct clf_device *device, const char *program, int *instructions);

#endif
