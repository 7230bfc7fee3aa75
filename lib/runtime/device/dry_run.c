#include "runtime/device/dry_run.h"

#include <assert.h>

#include "runtime/device/buffer.h"
#include "runtime/device/device.h"

static void give_up_scratch(struct clf_device *device)
{
    clf__buffer_free(device->packed);
    clf__buffer_free(device->transposed);
    device->packed = device->transposed = NULL;
}

void clf__dry_run_begin(struct clf__dry_run *dry_run, struct clf_device *device)
{
    assert(!device->is_dry_run);
    give_up_scratch(device);
    *dry_run = (struct clf__dry_run){
        .device = device,
        .used_bytes = device->used_bytes,
        .peak_bytes = device->peak_bytes,
        .slab = device->slab,
        .slab_used = device->slab != NULL ? device->slab->used : 0,
    };
    device->peak_bytes = device->used_bytes;
    device->is_dry_run = 1;
}

uint64_t clf__dry_run_end(const struct clf__dry_run *dry_run)
{
    struct clf_device *device = dry_run->device;
    uint64_t most = device->peak_bytes - dry_run->used_bytes;
    give_up_scratch(device);
    assert(device->used_bytes == dry_run->used_bytes);
    device->is_dry_run = 0;
    device->peak_bytes = dry_run->peak_bytes;
    device->slab = dry_run->slab;
    if (device->slab != NULL) {
        device->slab->used = dry_run->slab_used;
    }
    return most;
}
