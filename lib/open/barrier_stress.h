/* Tests whether work-groups of a launch can pass rows to each other without device-scope atomics. */
#ifndef CLF_OPEN_BARRIER_STRESS_H
#define CLF_OPEN_BARRIER_STRESS_H

#include "base/status.h"

struct clf_device;

/* rounds: of a launch, in each of which all rows are passed on; launches > 0. fails_at, spoiled_task: for
 * tests, the task of each launch that stops waiting, and the one that writes wrong words; -1: none. */
struct clf__barrier_stress {
    int rounds, launches;
    int fails_at, spoiled_task;
};

/* Runs cl/device/probe_barrier.cl. CLF_UNSUPPORTED if a word was wrong or if a group waited for too long; the
 * message does not name the device. */
clf_status clf__barrier_stress(struct clf_device *device, const struct clf__barrier_stress *stress);

#endif
