#include "opening/apart.h"

#include <pthread.h>

#include "opencl/quirks.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct clf_device *first; /* devices that have a number, in ascending order */

void clf__apart_enter(struct clf_device *device)
{
    if (!clf__quirk_mixes_up_kernels(device->info)) {
        return;
    }
    pthread_mutex_lock(&one_at_a_time);
    struct clf_device **place = &first;
    int number = 0;
    while (*place != NULL && (*place)->caps.apart == number) {
        place = &(*place)->next_apart;
        number++;
    }
    device->caps.apart = number;
    device->next_apart = *place;
    *place = device;
    pthread_mutex_unlock(&one_at_a_time);
}

void clf__apart_leave(struct clf_device *device)
{
    pthread_mutex_lock(&one_at_a_time);
    struct clf_device **place = &first;
    while (*place != NULL && *place != device) {
        place = &(*place)->next_apart;
    }
    if (*place == device) {
        *place = device->next_apart;
    }
    pthread_mutex_unlock(&one_at_a_time);
}
