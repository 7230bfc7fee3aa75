/* Loads programs from the cache in advance, on another thread: those that the same work used last time. */
#ifndef CLF_PROGRAM_AHEAD_H
#define CLF_PROGRAM_AHEAD_H

#include "base/task.h"

struct clf_device;

struct clf__programs_ahead {
    char *path;               /* path of the list of the work's programs; NULL: none is kept */
    char *list;               /* its text; NULL: none yet */
    struct clf__task loading; /* while it runs, it owns the table of programs */
};

/* Begins to load the programs of a list; `work` is any text that identifies the work. Only the first call
 * for a device has an effect. Failures are ignored: missing programs are loaded on request. */
void clf__programs_ahead_begin(struct clf_device *device, const char *work);

/* Stores the list of used programs, unless all of them were on it. A failure is only logged, as a warning. */
void clf__programs_ahead_store(struct clf_device *device);

#endif
