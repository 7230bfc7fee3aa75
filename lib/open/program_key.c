#include "open/program_key.h"

#include <pthread.h>

#include "runtime/opencl/quirks.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct clf_device *first; /* list of the devices with a number, in ascending order */

void clf__program_key_acquire(struct clf_device *device)
{
    if (!clf__quirk_mixes_up_kernels(device->info)) {
        return;
    }
    pthread_mutex_lock(&one_at_a_time);
    struct clf_device **place = &first;
    int number = 0;
    while (*place != NULL && (*place)->caps.program_key == number) {
        place = &(*place)->next_keyed;
        number++;
    }
    device->caps.program_key = number;
    device->next_keyed = *place;
    *place = device;
    pthread_mutex_unlock(&one_at_a_time);
}

void clf__program_key_release(struct clf_device *device)
{
    pthread_mutex_lock(&one_at_a_time);
    struct clf_device **place = &first;
    while (*place != NULL && *place != device) {
        place = &(*place)->next_keyed;
    }
    if (*place == device) {
        *place = device->next_keyed;
    }
    pthread_mutex_unlock(&one_at_a_time);
}
