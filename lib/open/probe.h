/* Runs the probe kernel, the first kernel that runs on a device. */
#ifndef CLF_OPEN_PROBE_H
#define CLF_OPEN_PROBE_H

#include "base/status.h"

struct clf_device;

/* Runs cl/<program>.cl, "probe", in the device's kernel variant; CLF_DEVICE if the result is wrong.
 * *instructions receives the instructions of the processor that ran the kernel, a sum of the flags in
 * runtime/tuning/levels.h. If the device options permit level amx, the kernel requests permission to use
 * AMX tiles from the operating system. */
clf_status clf__probe(struct clf_device *device, const char *program, int *instructions);

#endif
