/* Working as one of several ranks. */
#ifndef CLF_TOOLS_RANKS_H
#define CLF_TOOLS_RANKS_H

#include <clformer/ranks.h>

#include "shared/command.h"

/* From now on until it has joined, a process that was started as one of several ranks tells no failure alone:
 * the ranks meet, and one of them says it once, or of whichever failed first. */
void ranks_tell_failures(void);

/* Joins the others. All but rank 0 are quiet from now on. Returns an exit status. */
int ranks_join(struct clf_ranks **ranks, struct flags *flags);

/* Opens the device of this rank's place on its host, where `status`, an exit status, says that the rank is
 * ready; where a model is named, setup_open_several(). Returns EXIT_DONE where all ranks are ready and have
 * their devices. */
int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status);

/* Fails on all ranks where clformer's version, the content of the model's folder, or what a flag of the verb
 * says is not the same on all of them. */
clf_status ranks_check(struct clf_ranks *ranks, const struct flags *flags, int takes);

/* For what one process alone can do: where there are several ranks, says so, once. Returns -1, or the exit
 * status of that. */
int ranks_refuse(const char *sentence);

/* report_failure() of what all ranks failed with: one of them says it. */
int ranks_report(const struct clf_ranks *ranks, clf_status status);

#endif
