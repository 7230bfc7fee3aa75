/* A model that is one file, a package of Argos Translate, as a folder for as long as it is read. */
#ifndef CLF_FORMATS_UNPACK_H
#define CLF_FORMATS_UNPACK_H

#include "base/status.h"

struct clf__unpacked {
    const char *folder; /* to read: the path itself, borrowed, where it is no package */
    char *made;         /* NULL: nothing was unpacked */
    int lock;
};

/* Unpacks what a model's folder needs, and nothing else, into a new folder of this user's alone below
 * $TMPDIR. Names in the archive choose no path. Failures name the package and leave nothing. */
clf_status clf__unpack(struct clf__unpacked *out, const char *path);
/* Returns the status; a failure's sentence then begins with the package, not with the folder. */
clf_status clf__unpacked_say(const struct clf__unpacked *unpacked, const char *path, clf_status status);
/* The same, having removed what was unpacked, once all is read. */
clf_status clf__unpacked_close(struct clf__unpacked *unpacked, const char *path, clf_status status);

#endif
