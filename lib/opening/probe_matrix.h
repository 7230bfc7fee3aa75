/* Looks for the matrix instructions of a GPU. */
#ifndef CLF_OPENING_PROBE_MATRIX_H
#define CLF_OPENING_PROBE_MATRIX_H

#include "base/status.h"

struct clf_device;
struct clf__listed_device;

/* *instructions receives the CLF__MATRIX_* of tuning/levels.h that the device has, whose products of small
 * whole numbers are exact in fp16, bf16 and int8: with the level that the device was opened with, or with
 * AUTO any but the emulated one. Zero in the CPU form. Fails only where memory does. */
clf_status clf__probe_matrix(int *instructions, struct clf_device *device,
                             const struct clf__listed_device *listed);

#endif
