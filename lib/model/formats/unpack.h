/* Unpacks an Argos Translate package, a model in a single file, into a temporary folder. */
#ifndef CLF_FORMATS_UNPACK_H
#define CLF_FORMATS_UNPACK_H

#include "base/status.h"

struct clf__unpacked {
    const char
        *folder; /* the unpacked folder, or the path as passed (borrowed) if there is nothing to unpack */
    char *made;  /* NULL: nothing was unpacked */
    int lock;
};

/* Unpacks the files that a model needs into a new private folder in $TMPDIR; names in the archive cannot lead
 * outside this folder. Error messages name the package. On failure all unpacked files are removed. */
clf_status clf__unpack(struct clf__unpacked *out, const char *path);
/* Returns the status; in the error message, replaces the folder with the package. */
clf_status clf__unpacked_rename_error(const struct clf__unpacked *unpacked, const char *path,
                                      clf_status status);
/* Removes the unpacked folder, then calls clf__unpacked_rename_error(). */
clf_status clf__unpacked_close(struct clf__unpacked *unpacked, const char *path, clf_status status);

#endif
