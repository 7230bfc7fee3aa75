/* Runs a function on a separate thread. */
#ifndef CLF_BASE_TASK_H
#define CLF_BASE_TASK_H

#include <pthread.h>

/* A task; a zeroed task has not started. */
struct clf__task {
    pthread_t thread;
    int is_running;
};

/* Starts function(argument); returns 0 without running it if no thread is available. */
int clf__task_begin(struct clf__task *task, void *(*function)(void *), void *argument);

/* Waits for the function, if it was started. */
void clf__task_wait(struct clf__task *task);

/* Starts function(argument) on a thread that nobody waits for; returns 0 without running it if no thread is
 * available. */
int clf__task_begin_detached(void *(*function)(void *), void *argument);

/* Initialises a condition variable whose timeouts use the monotonic clock. */
void clf__condition_init(pthread_cond_t *condition);

#endif
