/* Measures the time of each kernel with OpenCL events; for code that enqueues commands. */
#ifndef CLF_DEVICE_PROFILE_H
#define CLF_DEVICE_PROFILE_H

#include "base/status.h"
#include "runtime/device/cost.h"
#include "runtime/opencl/opencl.h"

struct clf__profile;

/* The caller frees *out, even after a failure. */
clf_status clf__profile_create(struct clf__profile **out);
void clf__profile_free(struct clf__profile *profile); /* NULL is ignored */

/* Returns the event argument for an enqueue call: `event` if profiling, otherwise NULL. Call it directly
 * before the enqueue call: it records the host time, which bounds the command's time. */
cl_event *clf__profile_slot(struct clf__profile *profile, cl_event *event);

/* Counts a command under its name and adds its time when it has finished; takes ownership of the events.
 * The time starts with the command, or, if `before` is not NULL, at the end of that event. Does nothing
 * without an event. */
clf_status clf__profile_add(struct clf_device *device, const char *name, struct clf__cost cost,
                            cl_event before, cl_event event);

/* Marks the start of a library call that enqueues several commands and returns only the event of the last
 * one. *event stays NULL without a profile. */
clf_status clf__profile_mark(struct clf_device *device, cl_event *event);

#endif
