/* One run at a time in a folder. */
#ifndef CLF_TRAIN_LOCK_H
#define CLF_TRAIN_LOCK_H

#include "base/status.h"

struct clf__lock {
    int number; /* the descriptor plus 1; 0: none is held */
};

/* Takes the lock of <folder>/lock, which the kernel gives back when the process ends in whatever way.
 * CLF_BAD_ARGUMENT where another run has it, of this process or another one. */
clf_status clf__lock_take(struct clf__lock *out, const char *folder);
void clf__lock_release(struct clf__lock *lock);

#endif
