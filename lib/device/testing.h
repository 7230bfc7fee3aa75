/* What the tests alone use of this room. */
#ifndef CLF_DEVICE_TESTING_H
#define CLF_DEVICE_TESTING_H

#include <stdint.h>

#include "base/status.h"
#include "opencl/testing.h"

struct clf_device;

/* The most bytes that a device's buffers took at a time since it was opened. */
uint64_t clf__device_peak_bytes(const struct clf_device *device);

#endif
