/* Measures the device memory of an operation by simulating its allocations.
 *
 * During a dry run, buffers count against the device memory, and creation fails if they do not fit, but
 * they have no memory: writes are ignored, reads return zeros, and kernels do not run. Buffers created in
 * a dry run must be freed before it ends. */
#ifndef CLF_DEVICE_DRY_RUN_H
#define CLF_DEVICE_DRY_RUN_H

#include <stddef.h>
#include <stdint.h>

struct clf_device;
struct clf__slab;

/* State to restore at the end. */
struct clf__dry_run {
    struct clf_device *device;
    uint64_t used_bytes, peak_bytes;
    struct clf__slab *slab;
    size_t slab_used;
};

/* Begins a dry run; frees the device's scratch memory first, because it is allocated on demand. */
void clf__dry_run_begin(struct clf__dry_run *dry_run, struct clf_device *device);
/* Returns the peak memory of the dry run, without the memory that was in use before. */
uint64_t clf__dry_run_end(const struct clf__dry_run *dry_run);

#endif
