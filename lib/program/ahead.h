/* Programs are loaded from the cache before they are asked for, beside other work: those that the same work
 * took the last time. */
#ifndef CLF_PROGRAM_AHEAD_H
#define CLF_PROGRAM_AHEAD_H

#include "base/task.h"

struct clf_device;

struct clf__programs_ahead {
    char *path;               /* of the list of what the work takes; NULL: none is kept */
    char *list;               /* the text there; NULL: none yet */
    struct clf__task loading; /* while it runs, the table of programs is its own */
};

/* Begins to load what was taken last time for this work, which any text names. The first call for a device
 * counts. Nothing here fails: what cannot be loaded now is loaded when it is asked for. */
void clf__programs_ahead_begin(struct clf_device *device, const char *work);

/* Keeps what was taken, unless all of it was on the list. Nothing here fails: a warning says what went wrong.
 */
void clf__programs_ahead_store(struct clf_device *device);

#endif
