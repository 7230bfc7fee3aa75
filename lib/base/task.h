/* Work on a thread of its own, beside the caller's. */
#ifndef CLF_BASE_TASK_H
#define CLF_BASE_TASK_H

#include <pthread.h>

/* All zero: nothing was begun. */
struct clf__task {
    pthread_t thread;
    int is_running;
};

/* Begins function(argument); 0 where no thread can be had, and then nothing runs. */
int clf__task_begin(struct clf__task *task, void *(*function)(void *), void *argument);

/* Waits until it is done, if it was begun. */
void clf__task_wait(struct clf__task *task);

#endif
