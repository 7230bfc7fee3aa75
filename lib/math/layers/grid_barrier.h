/* Launches whose groups wait for each other (cl/include/grid_barrier.cl). */
#ifndef CLF_LAYERS_GRID_BARRIER_H
#define CLF_LAYERS_GRID_BARRIER_H

#include "runtime/device/device.h"

/* Returns whether groups of a launch see each other's writes with plain loads. */
static inline int clf__grid_barrier_works(const struct clf__caps *caps)
{
    return caps->has_device_atomics || (caps->level->instructions & CLF__MATRIX_NV80) != 0;
}

/* Returns whether groups of a launch see each other's writes with plain loads or loads from FRESH memory
 * (cl/include/prelude.cl). */
static inline int clf__grid_barrier_passes_rows(const struct clf__caps *caps)
{
    return clf__grid_barrier_works(caps) || caps->has_fenced_atomics;
}

/* Returns the maximum reads of a counter before a group stops waiting: `wanted` or, if it is 0, a few seconds
 * on a GPU, where a read takes about a microsecond. A CPU needs more, because reads are faster and threads
 * may be preempted. */
static inline int clf__grid_barrier_looks(const struct clf_device *device, int wanted)
{
    enum { MOST_LOOKS = 1 << 22, MOST_CPU_LOOKS = 1 << 26 };
    int own = device->info->kind == CLF_DEVICE_CPU ? MOST_CPU_LOOKS : MOST_LOOKS;
    return wanted > 0 ? wanted : own;
}

#endif
