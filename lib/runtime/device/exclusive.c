#include "runtime/device/exclusive.h"

#include <pthread.h>

#include "runtime/device/device.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct clf_device *holders; /* at most one per OpenCL device */

int clf__device_claim(struct clf_device *device)
{
    pthread_mutex_lock(&mutex);
    const struct clf_device *holder = holders;
    while (holder != NULL && holder->id != device->id) {
        holder = holder->next_holder;
    }
    if (holder == NULL) {
        device->next_holder = holders;
        holders = device;
    }
    device->claims += holder == NULL || holder == device;
    pthread_mutex_unlock(&mutex);
    return holder == NULL || holder == device;
}

void clf__device_release(struct clf_device *device)
{
    pthread_mutex_lock(&mutex);
    struct clf_device **place = &holders;
    while (*place != NULL && *place != device) {
        place = &(*place)->next_holder;
    }
    if (*place == device && --device->claims == 0) {
        *place = device->next_holder;
    }
    pthread_mutex_unlock(&mutex);
}
