#include "bench/callers.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

struct caller {
    struct callers *callers;
    struct clf__task task;
    sem_t start; /* a round, or the end; one for each thread, so that the threads do not compete for a lock */
    int index;
    long long tokens;
    struct clf__failure failure;
};

struct callers {
    struct clf_translator *translator;
    const struct clf_line *lines; /* (count) */
    struct caller *list;          /* (count) */
    int count;
    sem_t finished;     /* posted at the end of a round */
    atomic_int working; /* number of threads that have not finished the round */
    int ends;           /* the threads end instead of starting a round */
};

static clf_status translate(struct caller *caller)
{
    const struct callers *callers = caller->callers;
    struct clf_translation *result;
    CLF__TRY(clf_translate(&result, callers->translator, &callers->lines[caller->index], 1));
    clf_status status = result->status == CLF_OK
                            ? CLF_OK
                            : clf__fail(CLF_TEXT, "line %d of the work file cannot be used: %s",
                                        caller->index + 1, result->problem);
    caller->tokens = result->count > 0 ? result->hypotheses[0].count : 0;
    clf_translations_free(result, 1);
    return status;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) { /* interrupted by a signal */
    }
}

static void *call(void *user)
{
    struct caller *caller = user;
    struct callers *callers = caller->callers;
    for (;;) {
        wait_for(&caller->start);
        if (callers->ends) {
            return NULL;
        }
        caller->failure = clf__failure_keep(translate(caller));
        if (atomic_fetch_sub(&callers->working, 1) == 1) {
            sem_post(&callers->finished);
        }
    }
}

clf_status callers_start(struct callers **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count)
{
    struct callers *callers;
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    callers = *out;
    callers->translator = translator;
    callers->lines = lines;
    sem_init(&callers->finished, 0, 0);
    CLF__TRY(clf__allocate(&callers->list, (size_t)count, sizeof *callers->list));
    for (; callers->count < count; callers->count++) {
        struct caller *caller = &callers->list[callers->count];
        *caller = (struct caller){.callers = callers, .index = callers->count};
        sem_init(&caller->start, 0, 0);
        if (!clf__task_begin(&caller->task, call, caller)) {
            return clf__fail(CLF_OUT_OF_MEMORY, "cannot start %d threads; use a smaller --batch", count);
        }
    }
    return CLF_OK;
}

/* Starts a round, or ends the threads. */
static void start(struct callers *callers)
{
    for (int i = 0; i < callers->count; i++) {
        sem_post(&callers->list[i].start);
    }
}

clf_status callers_run(long long *tokens, struct callers *callers)
{
    atomic_store(&callers->working, callers->count);
    start(callers);
    wait_for(&callers->finished);
    *tokens = 0;
    for (int i = 0; i < callers->count; i++) {
        CLF__TRY(clf__failure_again(&callers->list[i].failure));
        *tokens += callers->list[i].tokens;
    }
    return CLF_OK;
}

void callers_stop(struct callers *callers)
{
    if (callers == NULL) {
        return;
    }
    callers->ends = 1;
    start(callers);
    for (int i = 0; i < callers->count; i++) {
        clf__task_wait(&callers->list[i].task);
        sem_destroy(&callers->list[i].start);
    }
    sem_destroy(&callers->finished);
    clf__free(callers->list);
    clf__free(callers);
}
