/* Small results that are stored in the cache folder under a key. */
#ifndef CLF_OPENING_KEPT_H
#define CLF_OPENING_KEPT_H

#include "base/status.h"

/* The text that <folder>/<word>-<hash of the key>.txt holds for the key, freed by clf__free(); NULL if there
 * is none or the file cannot be read (the program cache warns about its folder). Fails only for lack of
 * memory. */
clf_status clf__kept_read(char **out, char **path, const char *folder, const char *word, const char *key);

/* Writes that file. */
clf_status clf__kept_write(const char *folder, const char *word, const char *key, const char *text);

#endif
