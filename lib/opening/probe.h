/* The first small kernel on a device. */
#ifndef CLF_OPENING_PROBE_H
#define CLF_OPENING_PROBE_H

#include "base/status.h"

struct clf_device;

/* What a kernel found of the processor that it ran on: the values of cl/device/probe.cl. */
enum clf__instruction { CLF__DOT_INT8 = 1, CLF__DOT_BF16 = 2 };

/* Runs cl/<program>.cl, "probe", in the device's form; CLF_DEVICE when the answer is not the known one.
 * *instructions receives a sum of enum clf__instruction. */
clf_status clf__probe(struct clf_device *device, const char *program, int *instructions);

#endif
