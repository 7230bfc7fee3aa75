/* Detects the matrix instructions of a GPU. */
#ifndef CLF_OPEN_PROBE_MATRIX_H
#define CLF_OPEN_PROBE_MATRIX_H

#include "base/status.h"

struct clf_device;
struct clf__listed_device;

/* Sets *instructions to the supported CLF__MATRIX_* of runtime/tuning/levels.h: those that multiply small
 * integers exactly in fp16, bf16 and int8. Tries the requested level; with AUTO, all levels except the
 * emulated one. Zero in the CPU variant. Fails only if memory is exhausted. */
clf_status clf__probe_matrix(int *instructions, struct clf_device *device,
                             const struct clf__listed_device *listed);

#endif
