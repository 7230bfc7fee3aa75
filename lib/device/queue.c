#include "device/queue.h"

#include "base/environment.h"
#include "device/device.h"

enum { LAUNCHES_A_FLUSH = 16 };

void clf__device_waited(struct clf_device *device)
{
    device->unflushed = device->has_flushed = 0;
}

clf_status clf__device_flush(struct clf_device *device)
{
    device->unflushed = 0;
    device->has_flushed = 1;
    return clf__opencl_check(CLF__CL(clFlush(device->queue)), "handing work to device %s", device->label);
}

clf_status clf__device_launched(struct clf_device *device)
{
    int is_due = ++device->unflushed >= LAUNCHES_A_FLUSH && (device->caps.without & CLF__WITHOUT_FLUSH) == 0;
    return !is_due ? CLF_OK : clf__device_flush(device);
}

/* In rusticl of Mesa 22.3, clFinish() does not wait for commands that were flushed before, but it waits for
 * the commands before a marker. */
static cl_int finish(struct clf_device *device)
{
    cl_int marked = CL_SUCCESS;
    if (device->has_flushed) {
        marked = CLF__CL(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, NULL));
    }
    clf__device_waited(device);
    cl_int finished = CLF__CL(clFinish(device->queue));
    return marked != CL_SUCCESS ? marked : finished;
}

clf_status clf__device_finish(struct clf_device *device)
{
    return clf__opencl_check(finish(device), "waiting for the work of device %s", device->label);
}

void clf__device_settle(struct clf_device *device)
{
    (void)finish(device);
}

clf_status clf__device_finish_stage(struct clf_device *device)
{
    return device->profile ? clf__device_finish(device) : CLF_OK;
}
