/* Submitting work to a device and waiting for it. */
#ifndef CLF_DEVICE_QUEUE_H
#define CLF_DEVICE_QUEUE_H

#include "base/status.h"

struct clf_device;

/* Counts a launch and its operations and flushes the queue after every 16th: some drivers start work only
 * at a flush, and a flush per launch costs more than it gains. Blocking calls flush by themselves (OpenCL
 * 1.2, 5.13). A paced device is waited for after about a second of enqueued work, by its measured rate: a
 * driver that sees no end of the work for some seconds resets the GPU. */
clf_status clf__device_launched(struct clf_device *device, double operations);
/* The most operations that one launch should have, about 0.3 s of work. */
double clf__device_most_operations(const struct clf_device *device);
clf_status clf__device_flush(struct clf_device *device);
/* For callers of blocking commands, which wait for the queue by themselves. */
void clf__device_waited(struct clf_device *device);
/* Waits until all enqueued commands have finished. */
clf_status clf__device_finish(struct clf_device *device);
/* The same after a failure, whose message is kept even if this fails as well. Needed after non-blocking
 * copies and kernels that access buffers by address, before that memory is reused or freed. Other code
 * does not need it: the other copies block, and a freed buffer stays until its commands have finished
 * (OpenCL 1.2, 5.4.1). */
void clf__device_settle(struct clf_device *device);
/* Calls clf__device_finish() if the device profiles, so that the host's clock separates stages; does
 * nothing otherwise. */
clf_status clf__device_finish_stage(struct clf_device *device);

#endif
