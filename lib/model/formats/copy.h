/* Copies files from a folder to a new folder in the same format. */
#ifndef CLF_FORMATS_COPY_H
#define CLF_FORMATS_COPY_H

#include "base/status.h"

/* Copies tokenizers, settings, word lists and documents, but not weights, files for which `leaves` (NULL:
 * none) returns 1, or files that the target already has. Skips links that lead outside the folder, except for
 * files that loading needs. Returns CLF_INTERRUPTED if the program interrupts the operation. */
clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name));

#endif
