/* Functions of this module for tests only. */
#ifndef CLF_PROGRAM_TESTING_H
#define CLF_PROGRAM_TESTING_H

#include "runtime/opencl/testing.h"

struct clf_device;

/* Adds a source cl/<name>.cl for this device only; both strings are borrowed. */
clf_status clf__program_add_source(struct clf_device *device, const char *name, const char *text);

/* Members of a struct clf__launch: the same kernel, groups and work-items for both variants. */
/* clang-format off */
#define CLF__ON_BOTH(...) .cpu = { __VA_ARGS__ }, .gpu = { __VA_ARGS__ }
/* clang-format on */

/* Counts the programs of the device that were compiled and the programs that were loaded from the cache. */
void clf__program_counts(const struct clf_device *device, int *built, int *loaded);

#endif
