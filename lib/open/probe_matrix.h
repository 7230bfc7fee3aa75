/* Checks the matrix instructions of a GPU level. */
#ifndef CLF_OPEN_PROBE_MATRIX_H
#define CLF_OPEN_PROBE_MATRIX_H

#include "base/status.h"

struct clf_device;
struct clf__level;

/* Multiplies small integers in fp16, bf16 and int8 with the matrix instructions of a level, and compares the
 * results, which must be exact. CLF_UNSUPPORTED if a result is wrong, CLF_BUILD if the instructions do not
 * compile. */
clf_status clf__probe_matrix(struct clf_device *device, const struct clf__level *level);

#endif
