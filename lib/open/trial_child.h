/* Runs trials in child processes, so that a compiler that crashes or hangs costs only what is tried. */
#ifndef CLF_OPEN_TRIAL_CHILD_H
#define CLF_OPEN_TRIAL_CHILD_H

#include "base/status.h"

/* A trial as the command runs it. */
struct clf__trial_child {
    const char *flag, *index, *operand;            /* arguments of the command; operand may be NULL */
    int (*parse)(void *trial, const char *output); /* reads the command's output; 0 if it has no result */
    void (*record_crash)(void *trial, const char *failure); /* a crash, or a trial that did not end */
    void *trial;
};

/* Runs the trial by the command that $CLFORMER_PROBE names. *has_run is 0 if the variable is not set, or if
 * the command gave no result and did not crash, so that it is probably not the clformer command; this is
 * logged. Fails only after an interrupt. */
clf_status clf__trial_in_child(int *has_run, const struct clf__trial_child *child);

/* Changes the time limit, for tests. */
void clf__trial_limit(double seconds);

#endif
