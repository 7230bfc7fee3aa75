/* What work takes of a device, found by doing all that the work does before it begins.
 *
 * Until a dry run ends, the buffers that are made on its device are counted, and refused where they do not
 * fit, as always, but have no memory: what is written is lost, what is read is zero, and nothing is computed.
 * All that was made in it is freed in it. */
#ifndef CLF_DEVICE_DRY_RUN_H
#define CLF_DEVICE_DRY_RUN_H

#include <stddef.h>
#include <stdint.h>

struct clf_device;
struct clf__slab;

/* What the end gives back to the device. */
struct clf__dry_run {
    struct clf_device *device;
    uint64_t used_bytes, peak_bytes;
    struct clf__slab *slab;
    size_t slab_used;
};

/* The device's scratch memory, which is made as it is needed, is given up first. */
void clf__dry_run_begin(struct clf__dry_run *dry_run, struct clf_device *device);
/* Returns the most bytes that were in use at a time, beside those from before. */
uint64_t clf__dry_run_end(const struct clf__dry_run *dry_run);

#endif
