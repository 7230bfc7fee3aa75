/* Support for running as one of several ranks. */
#ifndef CLF_TOOLS_RANKS_H
#define CLF_TOOLS_RANKS_H

#include <clformer/ranks.h>

#include "shared/command.h"

/* If the process is one of several ranks, turns a failure before ranks_join() into a failure of all ranks,
 * which one of them prints. */
void ranks_tell_failures(void);

/* Joins the other ranks. Ranks other than 0 print no more log messages. Returns an exit status. */
int ranks_join(struct clf_ranks **ranks, struct flags *flags);

/* If `status`, an exit status, is EXIT_DONE, opens a device, or devices and models if a model is named. The
 * device depends on the number of this rank on its host. Returns EXIT_DONE if all ranks succeeded. */
int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status);

/* Fails on all ranks unless all ranks have the same version of clformer, the same files in the model folder,
 * and the same values of the verb's flags. */
clf_status ranks_check(struct clf_ranks *ranks, const struct flags *flags, int takes);

/* Fails if the process is one of several ranks, one of which prints the message. Returns -1 for a single
 * rank, otherwise an exit status. */
int ranks_refuse(const char *sentence);

/* Calls report_failure() on one of the ranks for a failure of all ranks. */
int ranks_report(const struct clf_ranks *ranks, clf_status status);

#endif
