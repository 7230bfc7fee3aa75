/* What a new folder takes from another one of the same format. */
#ifndef CLF_FORMATS_COPY_H
#define CLF_FORMATS_COPY_H

#include "base/status.h"

/* Copies the files of a folder, not the folders in it, but those whose name `leaves` (NULL: none) and what no
 * folder takes from another: weights, the state of a training, what a killed program left; and those that the
 * target has already. */
clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name));

#endif
