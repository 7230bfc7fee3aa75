/* Running as one of several ranks. */
#ifndef CLF_TOOLS_RANKS_H
#define CLF_TOOLS_RANKS_H

#include <clformer/ranks.h>

#include "shared/command.h"

/* Until ranks_join(), a process that is one of several ranks does not print failures: the ranks meet and one
 * of them prints the first failure. */
void ranks_tell_failures(void);

/* Joins the other ranks. Ranks other than 0 print no more log messages. Returns an exit status. */
int ranks_join(struct clf_ranks **ranks, struct flags *flags);

/* If `status`, an exit status, is EXIT_DONE, opens the device for this rank's place on its host, or calls
 * setup_open_several() if a model is named. Returns EXIT_DONE if all ranks succeeded. */
int ranks_open_device(struct clf_ranks *ranks, struct setup *setup, const struct flags *flags, int status);

/* Fails on all ranks unless all have the same version of clformer, content of the model folder, and values of
 * the verb's flags. */
clf_status ranks_check(struct clf_ranks *ranks, const struct flags *flags, int takes);

/* Refuses to run as several ranks: one rank prints the sentence. Returns -1 for a single rank, else an exit
 * status. */
int ranks_refuse(const char *sentence);

/* Reports a failure of all ranks on one of them, as report_failure(). */
int ranks_report(const struct clf_ranks *ranks, clf_status status);

#endif
