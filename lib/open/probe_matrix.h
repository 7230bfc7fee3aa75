/* Detects the matrix instructions of a GPU. */
#ifndef CLF_OPEN_PROBE_MATRIX_H
#define CLF_OPEN_PROBE_MATRIX_H

#include "base/status.h"

struct clf_device;
struct clf__listed_device;

/* instructions receives the supported CLF__MATRIX_* of runtime/tuning/levels.h, whose products of small whole
 * numbers are exact in fp16, bf16 and int8. Tries the level with which the device was opened, or with AUTO
 * any except the emulated one. Zero in the CPU variant. Fails only for lack of memory. */
clf_status clf__probe_matrix(int *instructions, struct clf_device *device,
                             const struct clf__listed_device *listed);

#endif
