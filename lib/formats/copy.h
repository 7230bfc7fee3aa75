/* What a new folder takes from another one of the same format. */
#ifndef CLF_FORMATS_COPY_H
#define CLF_FORMATS_COPY_H

#include "base/status.h"

/* Copies the files of known kinds (tokenizers, settings, word lists, texts about the model) that a folder
 * holds, except weights, names for which `leaves` returns 1 (NULL: none), and files that the target has
 * already. Only regular files of the folder's own tree are copied; a file that loading the model reads may
 * also be a link out of it. CLF_INTERRUPTED where the program asks to stop. */
clf_status clf__format_copy_others(const char *target, const char *folder, int (*leaves)(const char *name));

#endif
