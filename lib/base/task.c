#include "base/task.h"

int clf__task_begin(struct clf__task *task, void *(*function)(void *), void *argument)
{
    task->is_running = pthread_create(&task->thread, NULL, function, argument) == 0;
    return task->is_running;
}

void clf__task_wait(struct clf__task *task)
{
    if (task->is_running) {
        pthread_join(task->thread, NULL);
        task->is_running = 0;
    }
}

int clf__task_begin_detached(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int is_running = pthread_create(&thread, &detached, function, argument) == 0;
    pthread_attr_destroy(&detached);
    return is_running;
}

void clf__condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &clock);
    pthread_condattr_destroy(&clock);
}
