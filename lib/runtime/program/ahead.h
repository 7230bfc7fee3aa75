/* Preloads, on another thread, the cached programs that the same kind of work used last time. */
#ifndef CLF_PROGRAM_AHEAD_H
#define CLF_PROGRAM_AHEAD_H

#include "base/task.h"

struct clf_device;

struct clf__programs_ahead {
    char *path;               /* path of the list; NULL: no list is stored */
    char *list;               /* text of the list; NULL: none yet */
    struct clf__task loading; /* owns the table of programs while it runs */
};

/* Starts to load the programs listed for `work`, a text that identifies the kind of work. Only the first
 * call for a device has an effect. Failures are ignored, because programs are also loaded on request. */
void clf__programs_ahead_begin(struct clf_device *device, const char *work);

/* Stores the list of used programs if it has grown. A failure is only logged, as a warning. */
void clf__programs_ahead_store(struct clf_device *device);

#endif
