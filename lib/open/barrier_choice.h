/* Finds out whether work-groups of a GPU without device-scope atomics can wait for each other. */
#ifndef CLF_OPEN_BARRIER_CHOICE_H
#define CLF_OPEN_BARRIER_CHOICE_H

#include "runtime/opencl/listed_device.h"
#include "runtime/tuning/barrier_trial.h"

/* How the trial runs. */
struct clf__barrier_method {
    int is_kept; /* the result is stored in the cache folder */
    /* Runs the trial in this process. Fails only as clf__barrier_try() does. */
    clf_status (*run)(struct clf__barrier_trial *trial, void *user);
    void *user;
};

/* Returns whether the trial decides anything for this device: a GPU without device-scope atomics, or whose
 * atomics $CLFORMER_WITHOUT disables. without: CLF__WITHOUT_... */
int clf__barrier_needs_trial(const struct clf__listed_device *listed, unsigned without);

/* Reads the stored result for this device, driver and kernel, or runs the trial: in a child process if
 * $CLFORMER_PROBE names the clformer command, otherwise in this process. Fails only if memory is exhausted or
 * after an interrupt. */
clf_status clf__barrier_choose(struct clf__barrier_trial *out, const struct clf__listed_device *listed,
                               const struct clf__barrier_method *method);

#endif
