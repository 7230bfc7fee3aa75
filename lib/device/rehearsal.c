#include "device/rehearsal.h"

#include <assert.h>

#include "device/buffer.h"
#include "device/device.h"

static void give_up_scratch(struct clf_device *device)
{
    clf__buffer_free(device->packed);
    clf__buffer_free(device->transposed);
    device->packed = device->transposed = NULL;
}

void clf__rehearsal_begin(struct clf__rehearsal *rehearsal, struct clf_device *device)
{
    assert(!device->is_rehearsing);
    give_up_scratch(device);
    *rehearsal = (struct clf__rehearsal){
        .device = device,
        .used_bytes = device->used_bytes,
        .peak_bytes = device->peak_bytes,
        .slab = device->slab,
        .slab_used = device->slab != NULL ? device->slab->used : 0,
    };
    device->peak_bytes = device->used_bytes;
    device->is_rehearsing = 1;
}

uint64_t clf__rehearsal_end(const struct clf__rehearsal *rehearsal)
{
    struct clf_device *device = rehearsal->device;
    uint64_t most = device->peak_bytes - rehearsal->used_bytes;
    give_up_scratch(device);
    assert(device->used_bytes == rehearsal->used_bytes);
    device->is_rehearsing = 0;
    device->peak_bytes = rehearsal->peak_bytes;
    device->slab = rehearsal->slab;
    if (device->slab != NULL) {
        device->slab->used = rehearsal->slab_used;
    }
    return most;
}
