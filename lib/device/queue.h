/* Handing work to a device and waiting for it. */
#ifndef CLF_DEVICE_QUEUE_H
#define CLF_DEVICE_QUEUE_H

#include "base/status.h"

struct clf_device;

/* Counts a launch and its operations and flushes the queue after every 16th: some drivers start work only
 * at a flush, and a flush for each launch costs more than it gains. Blocking calls flush by themselves
 * (OpenCL 1.2, 5.13). On a device that is paced it waits as soon as about a second of work is enqueued, by
 * the rate that the device was seen to reach: a driver that sees no end of the work for some seconds resets
 * the GPU. */
clf_status clf__device_launched(struct clf_device *device, double operations);
/* How many operations one launch should have at most, about 0.3 s of work. */
double clf__device_most_operations(const struct clf_device *device);
clf_status clf__device_flush(struct clf_device *device);
/* For callers of blocking commands, which wait for the queue by themselves. */
void clf__device_waited(struct clf_device *device);
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
