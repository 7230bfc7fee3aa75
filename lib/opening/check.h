/* A check of the kernels that models need most, on a GPU that this driver has not shown to run them. */
#ifndef CLF_OPENING_CHECK_H
#define CLF_OPENING_CHECK_H

#include "base/status.h"

struct clf_device;

/* Multiplies matrices by the kernels for many and for few rows and takes an attention step, in the GPU form,
 * and compares the results with known numbers. CLF_DEVICE if they differ; CLF_BUILD or CLF_UNSUPPORTED if a
 * kernel does not compile or needs more than the device has. *is_lasting: a failure will not pass by itself.
 */
clf_status clf__check_kernels(struct clf_device *device, int *is_lasting);

/* Calls clf__check_kernels() for a GPU, unless a file in the cache folder holds the result for this device,
 * its driver and these build options. Devices of other kinds and those in the CPU form pass. */
clf_status clf__check_once(struct clf_device *device);

#endif
