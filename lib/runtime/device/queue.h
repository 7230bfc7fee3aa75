/* Submitting work to a device and waiting for it. */
#ifndef CLF_DEVICE_QUEUE_H
#define CLF_DEVICE_QUEUE_H

#include "base/status.h"

struct clf_device;

/* Counts a launch and its operations, and flushes the queue after every 16th launch: some drivers start
 * work only at a flush, but a flush per launch costs more than it gains. Blocking calls flush implicitly
 * (OpenCL 1.2, 5.13). For a paced device, waits after about a second of enqueued work (estimated from the
 * measured rate), because the driver resets a GPU that is busy for several seconds. */
clf_status clf__device_launched(struct clf_device *device, double operations);
/* Returns the maximum number of operations that one launch should have, about 0.3 s of work. */
double clf__device_most_operations(const struct clf_device *device);
clf_status clf__device_flush(struct clf_device *device);
/* Must be called after a blocking command, which waits for the queue implicitly. */
void clf__device_waited(struct clf_device *device);
/* Returns a mark for the work enqueued so far. */
double clf__device_mark(const struct clf_device *device);
/* Must be called after waiting for a command that was enqueued at a mark, if later commands may still run. */
void clf__device_reached(struct clf_device *device, double mark);
/* Waits until all enqueued commands have finished. */
clf_status clf__device_finish(struct clf_device *device);
/* Waits for the device after a failure, and preserves the error message. Required before freeing or
 * reusing memory that non-blocking copies or kernels access by address. Other buffers live until their
 * commands have finished (OpenCL 1.2, 5.4.1). */
void clf__device_settle(struct clf_device *device);
/* If the device is profiled, calls clf__device_finish() to separate the stages in host time; otherwise
 * does nothing. */
clf_status clf__device_finish_stage(struct clf_device *device);

#endif
