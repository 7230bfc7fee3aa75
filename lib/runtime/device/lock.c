#include "runtime/device/lock.h"

#include <stddef.h>

#include "runtime/device/device.h"

struct clf_device *clf__device_lock(struct clf_device *device)
{
    if (device != NULL) {
        clf__fair_lock_lock(&device->lock);
    }
    return device;
}

void clf__device_unlock(struct clf_device **device)
{
    if (*device != NULL) {
        clf__fair_lock_unlock(&(*device)->lock);
    }
}
