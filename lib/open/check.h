/* Checks the most important kernels on a GPU with an unchecked driver. */
#ifndef CLF_OPEN_CHECK_H
#define CLF_OPEN_CHECK_H

#include "base/status.h"

struct clf_device;

/* Runs the GPU variant of GEMM, for many and for few rows, and of an attention step, and compares the
 * results with known numbers. CLF_DEVICE if they differ; CLF_BUILD or CLF_UNSUPPORTED if a kernel does not
 * compile or exceeds the device's limits. *is_lasting: the failure is permanent. */
clf_status clf__check_kernels(struct clf_device *device, int *is_lasting);

/* Calls clf__check_kernels() for a GPU, unless a file in the cache folder holds the result for this
 * device, its driver and these build options. Devices of other kinds, or with the CPU variant, pass.
 * *is_lasting: a failure is permanent. */
clf_status clf__check_once(struct clf_device *device, int *is_lasting);

#endif
