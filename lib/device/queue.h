/* Waiting for a device's work. */
#ifndef CLF_DEVICE_QUEUE_H
#define CLF_DEVICE_QUEUE_H

#include "base/status.h"

struct clf_device;

/* Waits until everything enqueued is done. */
clf_status clf__device_finish(struct clf_device *device);
/* The same after a failure, whose sentence is kept even if this fails too. Who enqueued a copy that does not
 * wait, or a kernel that finds buffers by addresses in memory, calls it before that memory serves something
 * else or goes. Nobody else has to: the other copies wait, and a buffer that is given back stays until the
 * commands that were given it are done (OpenCL 1.2, 5.4.1). */
void clf__device_settle(struct clf_device *device);
/* clf__device_finish() where the device profiles, so that the host's clock tells stages apart; nothing
 * elsewhere. */
clf_status clf__device_finish_stage(struct clf_device *device);

#endif
