/* Copies files from one folder to a new folder of the same format. */
#ifndef CLF_FORMATS_COPY_H
#define CLF_FORMATS_COPY_H

#include "base/status.h"

/* Copies the tokenizers, settings, word lists and documents of a folder, except weights, names for which
 * `leaves` returns 1 (NULL: none), and files that the target already has. Only regular files in the folder's
 * tree are copied, or links to files that loading needs. CLF_INTERRUPTED if the program requests it. */
clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name));

#endif
