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
