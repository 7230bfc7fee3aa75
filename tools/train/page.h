/* The page with the curves of one or more runs. */
#ifndef CLF_TOOLS_TRAIN_PAGE_H
#define CLF_TOOLS_TRAIN_PAGE_H

#include "train/history.h"

/* Writes the page completely or not at all; "-" is standard output. Returns an exit status. */
int train_page_write(const char *path, const struct train_history *runs, int count);
/* Writes a page with the runs of `count` logs. Returns an exit status. */
int curves_write(const char *path, char **logs, int count);

#endif
