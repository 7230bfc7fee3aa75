/* What the tests alone use of this room. */
#ifndef CLF_PROGRAM_TESTING_H
#define CLF_PROGRAM_TESTING_H

#include "opencl/testing.h"

struct clf_device;

/* Makes text known as cl/<name>.cl to this device alone; both are borrowed. */
clf_status clf__program_add_source(struct clf_device *device, const char *name, const char *text);

/* In a launch: a kernel that serves both forms, with its groups and work-items. */
/* clang-format off */
#define CLF__ON_BOTH(...) .cpu = { __VA_ARGS__ }, .gpu = { __VA_ARGS__ }
/* clang-format on */

/* How many programs of a device came from the compiler, and how many from the cache. */
void clf__program_counts(const struct clf_device *device, int *built, int *loaded);

#endif
