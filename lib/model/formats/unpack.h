/* Unpacks a model in a single file, an Argos Translate package, to a temporary folder. */
#ifndef CLF_FORMATS_UNPACK_H
#define CLF_FORMATS_UNPACK_H

#include "base/status.h"

struct clf__unpacked {
    const char *folder; /* folder to read; the path as passed, borrowed, if it is not a package */
    char *made;         /* NULL: nothing was unpacked */
    int lock;
};

/* Unpacks only the files that a model needs into a new private folder below $TMPDIR. Names in the archive
 * cannot choose paths. Errors name the package and leave nothing behind. */
clf_status clf__unpack(struct clf__unpacked *out, const char *path);
/* Returns the status; replaces the folder in the error message by the package. */
clf_status clf__unpacked_say(const struct clf__unpacked *unpacked, const char *path, clf_status status);
/* clf__unpacked_say(), after removing the unpacked folder. */
clf_status clf__unpacked_close(struct clf__unpacked *unpacked, const char *path, clf_status status);

#endif
