/* Training as one of several ranks. */
#ifndef CLF_TOOLS_TRAIN_RANKS_H
#define CLF_TOOLS_TRAIN_RANKS_H

#include <clformer/ranks.h>

#include "shared/command.h"

/* Joins the others. All but rank 0 are quiet from now on, and write neither log nor page. Returns an exit
 * status. */
int ranks_join(struct clf_ranks **ranks, struct flags *flags);

/* Opens the device of this rank's place on its host, where `status`, an exit status, says that the rank is
 * ready. Returns EXIT_DONE where all ranks are ready and have their devices. */
int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status);

/* report_failure() of what all ranks failed with: one of them says it. */
int ranks_report(const struct clf_ranks *ranks, clf_status status);

#endif
