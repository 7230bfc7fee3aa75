#include "device/queue.h"

#include "device/device.h"

clf_status clf__device_finish(struct clf_device *device)
{
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
