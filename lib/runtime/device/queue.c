#include "runtime/device/queue.h"

#include <math.h>

#include "base/clock.h"
#include "base/environment.h"
#include "runtime/device/device.h"

enum { LAUNCHES_A_FLUSH = 16 };

/* The assumed rate before the first measurement (a slow GPU), and the maximum seconds of enqueued work and
 * of one launch. */
static const double first_rate = 5e10, most_seconds = 1.0, launch_seconds = 0.3;

static double rate_of(const struct clf_device *device)
{
    return device->pace.rate > 0.0 ? device->pace.rate : first_rate;
}

double clf__device_most_operations(const struct clf_device *device)
{
    return device->caps.is_paced ? launch_seconds * rate_of(device) : HUGE_VAL;
}

/* Updates the measured rate after the end of all work except `left` operations. A lower rate counts only if
 * much work was enqueued; otherwise the device may have been waiting for the host. */
static void end_pace(struct clf_device *device, double left)
{
    struct clf__pace *pace = &device->pace;
    double now = clf__seconds(), elapsed = now - pace->since, done = pace->operations - left;
    if (done > 0.0 && elapsed > 0.0) {
        double seen = done / elapsed;
        int is_busy = done > 0.5 * most_seconds * rate_of(device);
        pace->rate = seen > pace->rate ? seen : is_busy ? 0.5 * (pace->rate + seen) : pace->rate;
    }
    pace->operations = left;
    pace->since = now;
}

void clf__device_waited(struct clf_device *device)
{
    device->unflushed = device->has_flushed = 0;
    if (device->caps.is_paced) {
        end_pace(device, 0.0);
    }
}

double clf__device_mark(const struct clf_device *device)
{
    return device->pace.total;
}

void clf__device_reached(struct clf_device *device, double mark)
{
    double left = device->pace.total - mark;
    if (device->caps.is_paced && left < device->pace.operations) {
        end_pace(device, left);
    }
}

clf_status clf__device_flush(struct clf_device *device)
{
    device->unflushed = 0;
    device->has_flushed = 1;
    return clf__opencl_check(CLF__CL(clFlush(device->queue)), "submitting work to device %s", device->label);
}

/* clFinish() of rusticl in Mesa 22.3 does not wait for flushed commands unless a marker follows them. */
static cl_int finish(struct clf_device *device)
{
    cl_int marked = CL_SUCCESS;
    if (device->has_flushed) {
        marked = CLF__CL(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, NULL));
    }
    cl_int finished = CLF__CL(clFinish(device->queue));
    clf__device_waited(device);
    return marked != CL_SUCCESS ? marked : finished;
}

clf_status clf__device_finish(struct clf_device *device)
{
    return clf__opencl_check(finish(device), "waiting for device %s", device->label);
}

clf_status clf__device_launched(struct clf_device *device, double operations)
{
    if (device->caps.is_paced && operations > 0.0) {
        device->pace.since = device->pace.operations > 0.0 ? device->pace.since : clf__seconds();
        device->pace.operations += operations;
        device->pace.total += operations;
        if (device->pace.operations > most_seconds * rate_of(device)) {
            return clf__device_finish(device);
        }
    }
    int is_due = ++device->unflushed >= LAUNCHES_A_FLUSH && (device->caps.without & CLF__WITHOUT_FLUSH) == 0;
    return !is_due ? CLF_OK : clf__device_flush(device);
}

void clf__device_settle(struct clf_device *device)
{
    (void)finish(device);
}

clf_status clf__device_finish_stage(struct clf_device *device)
{
    return device->profile ? clf__device_finish(device) : CLF_OK;
}
