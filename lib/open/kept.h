/* Stores small results by key in the cache folder. */
#ifndef CLF_OPEN_KEPT_H
#define CLF_OPEN_KEPT_H

#include "base/status.h"

/* Reads the text stored for a key in <folder>/<word>-<hash of the key>.txt; the caller frees *out. *out is
 * NULL if there is none or the file is unreadable (the program cache warns about its folder). Fails only if
 * memory is exhausted. */
clf_status clf__kept_read(char **out, char **path, const char *folder, const char *word, const char *key);

/* Stores a text for clf__kept_read(). */
clf_status clf__kept_write(const char *folder, const char *word, const char *key, const char *text);

#endif
