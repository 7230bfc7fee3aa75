/* Time by kernel, from OpenCL's own events: for those who enqueue. */
#ifndef CLF_DEVICE_PROFILE_H
#define CLF_DEVICE_PROFILE_H

#include "base/status.h"
#include "device/cost.h"
#include "opencl/opencl.h"

struct clf__profile;

/* What *out receives is freed on failure too. */
clf_status clf__profile_create(struct clf__profile **out);
void clf__profile_free(struct clf__profile *profile); /* NULL is ignored */

/* The event argument of an enqueueing call: `event` with a profile, NULL without. Called directly before the
 * command is enqueued, whose time cannot be longer than the time from then until it is done. */
cl_event *clf__profile_slot(struct clf__profile *profile, cl_event *event);

/* Counts a command under its name, and its time as soon as it is done; takes the events. Its time begins with
 * itself, or, where `before` is not NULL, with the end of that. Without an event it does nothing. */
clf_status clf__profile_add(struct clf_device *device, const char *name, struct clf__cost cost,
                            cl_event before, cl_event event);

/* Before a library's call that enqueues several commands and gives the last one's event: where the time
 * begins. *event stays NULL without a profile. */
clf_status clf__profile_mark(struct clf_device *device, cl_event *event);

#endif
