/* Chooses the matrix instructions that AUTO uses on a GPU, by trials, never by the name of the device. */
#ifndef CLF_OPEN_LEVEL_CHOICE_H
#define CLF_OPEN_LEVEL_CHOICE_H

#include "runtime/opencl/listed_device.h"
#include "runtime/program/program.h"
#include "runtime/tuning/level_trial.h"
#include "runtime/tuning/levels.h"

/* How trials run. */
struct clf__trial_method {
    int is_kept;      /* results are stored in the cache folder */
    unsigned without; /* CLF__WITHOUT_..., part of the key of a result */
    /* Runs a trial in this process. trial->level is set. Fails only as clf__level_try() does. */
    clf_status (*run)(struct clf__level_trial *trial, void *user);
    void *user;
};

/* Tries the levels that the device's vendor has, best first, until one is used. A stored result is used
 * instead of a trial if device, driver and sources are the same.
 *
 * If $CLFORMER_PROBE names the clformer command, trials run in child processes, so that a compiler that
 * crashes or hangs costs only the level, with one logged warning. Otherwise trials run in this process, and
 * levels of AMD GPUs are not tried, because AMD's compiler is known to crash on some of them. Fails only if
 * memory is exhausted or after an interrupt. */
clf_status clf__levels_choose(struct clf__level_trials *out, const struct clf__listed_device *listed,
                              const struct clf__trial_method *method);

/* Returns whether the instructions of a level may be tried. Compilers can crash on instructions of other
 * vendors, so those levels are never tried. */
int clf__level_is_possible(const struct clf__level *level, const struct clf__listed_device *listed);

/* Builds the key of a stored result, from everything that the result depends on. programs: the sources. The
 * caller frees *out. */
clf_status clf__level_trial_key(char **out, const struct clf__listed_device *listed, clf_instructions level,
                                unsigned without, const struct clf__programs *programs);

#endif
