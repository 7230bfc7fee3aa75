/* Opens one device of a list, and tries the matrix instructions of GPUs. */
#ifndef CLF_OPEN_OPEN_ONE_H
#define CLF_OPEN_OPEN_ONE_H

#include <clformer/device.h>

#include "base/status.h"
#include "runtime/tuning/barrier_trial.h"
#include "runtime/tuning/level_trial.h"

struct clf__external;

enum clf__opening_purpose {
    CLF__OPEN_FOR_USE,
    CLF__OPEN_FOR_TRIAL, /* at a requested level; the error names only the failure of its instructions */
    CLF__OPEN_PLAIN,     /* for a measurement without matrix instructions; the kernels are not checked */
};

/* How to open a device. */
struct clf__opening {
    const struct clf_device_options *options;
    const struct clf__external *external; /* or NULL */
    enum clf__opening_purpose purpose;
};

/* Opens a device, with the results of `clformer tune` unless the device fails with them. The device refers to
 * the list. */
clf_status clf__open_index(struct clf_device **out, struct clf_device_list *list, int index,
                           const struct clf__opening *opening);

/* Frees a device, but not the list. */
void clf__open_free(struct clf_device *device);

/* Opens the device at the level trial->level, which checks the results of the instructions, then without
 * matrix instructions, and measures GEMM for some milliseconds on each. A failure is recorded in the trial:
 * as a lasting one if the instructions do not compile or give wrong results. uses_cache: compiled programs
 * are cached. Fails only if memory is exhausted or after an interrupt. */
clf_status clf__level_try(struct clf__level_trial *trial, struct clf_device_list *list, int index,
                          int uses_cache);

/* Opens the device and runs clf__barrier_stress(). A failure is recorded in the trial. uses_cache: compiled
 * programs are cached. Fails only if memory is exhausted or after an interrupt. */
clf_status clf__barrier_try(struct clf__barrier_trial *trial, struct clf_device_list *list, int index,
                            int uses_cache);

#endif
