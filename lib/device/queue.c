#include "device/queue.h"

#include "base/environment.h"
#include "device/device.h"

enum { LAUNCHES_A_FLUSH = 16 };

clf_status clf__device_flush(struct clf_device *device)
{
    if (device->unflushed == 0) {
        return CLF_OK;
    }
    device->unflushed = 0;
    return clf__opencl_check(CLF__CL(clFlush(device->queue)), "handing work to device %s", device->label);
}

clf_status clf__device_launched(struct clf_device *device)
{
    int is_due = ++device->unflushed >= LAUNCHES_A_FLUSH && (device->caps.without & CLF__WITHOUT_FLUSH) == 0;
    return !is_due ? CLF_OK : clf__device_flush(device);
}

clf_status clf__device_finish(struct clf_device *device)
{
    device->unflushed = 0;
    return clf__opencl_check(CLF__CL(clFinish(device->queue)), "waiting for the work of device %s",
                             device->label);
}

void clf__device_settle(struct clf_device *device)
{
    (void)clFinish(device->queue);
}

clf_status clf__device_finish_stage(struct clf_device *device)
{
    return device->profile ? clf__device_finish(device) : CLF_OK;
}
