/* Measures the device memory of an operation by running all of its allocations.
 *
 * Until a dry run ends, buffers on its device are counted, and refused if they do not fit, but have no
 * memory: writes are lost, reads return zero, and kernels are not run. Buffers created in a dry run are
 * freed in it. */
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

/* The device's scratch memory, which is allocated on demand, is freed first. */
void clf__dry_run_begin(struct clf__dry_run *dry_run, struct clf_device *device);
/* Returns the most bytes in use at a time, in addition to those in use before. */
uint64_t clf__dry_run_end(const struct clf__dry_run *dry_run);

#endif
