/* The trial of waiting for other work-groups on a GPU without device-scope atomics: whether the atomic
 * functions of OpenCL C 1.2 and mem_fence() pass rows from one work-group to another. */
#ifndef CLF_TUNING_BARRIER_TRIAL_H
#define CLF_TUNING_BARRIER_TRIAL_H

#include "runtime/tuning/trial_line.h"

struct clf__barrier_trial {
    int is_tried;
    int is_lasting;                   /* the result may be stored for later starts */
    int is_crash;                     /* the trial crashed or did not end; not stored */
    char failure[CLF__TRIAL_FAILURE]; /* "" if the rows were right; otherwise the reason, on one line */
};

/* Returns whether launches may contain such waits. */
int clf__barrier_trial_is_used(const struct clf__barrier_trial *trial);

/* Describes the result for users. */
const char *clf__barrier_trial_describe(const struct clf__barrier_trial *trial);

/* Formats the result as one line; the caller frees *out. */
clf_status clf__barrier_trial_format(char **out, const struct clf__barrier_trial *trial);

/* Reads the last line of a text that clf__barrier_trial_format() wrote. Returns 0 if there is no such line.
 */
int clf__barrier_trial_parse(struct clf__barrier_trial *trial, const char *text);

#endif
