#include "bench/callers.h"

#include <pthread.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

struct caller {
    struct callers *callers;
    struct clf__task task;
    int index;
    long long tokens;
    struct clf__failure failure;
};

struct callers {
    struct clf_translator *translator;
    const struct clf_line *lines; /* (count) */
    struct caller *list;          /* (count) */
    int count;
    pthread_mutex_t lock;
    pthread_cond_t started;  /* a round, or the end */
    pthread_cond_t finished; /* the round */
    long long round;         /* number of rounds started */
    int working;             /* number of threads that have not finished the round */
    int ends;
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

static void *call(void *user)
{
    struct caller *caller = user;
    struct callers *callers = caller->callers;
    pthread_mutex_lock(&callers->lock);
    for (long long done = 0;; done++) {
        while (callers->round == done && !callers->ends) {
            pthread_cond_wait(&callers->started, &callers->lock);
        }
        if (callers->ends) {
            break;
        }
        pthread_mutex_unlock(&callers->lock);
        caller->failure = clf__failure_keep(translate(caller));
        pthread_mutex_lock(&callers->lock);
        if (--callers->working == 0) {
            pthread_cond_signal(&callers->finished);
        }
    }
    pthread_mutex_unlock(&callers->lock);
    return NULL;
}

clf_status callers_start(struct callers **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count)
{
    struct callers *callers;
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    callers = *out;
    callers->translator = translator;
    callers->lines = lines;
    pthread_mutex_init(&callers->lock, NULL);
    pthread_cond_init(&callers->started, NULL);
    pthread_cond_init(&callers->finished, NULL);
    CLF__TRY(clf__allocate(&callers->list, (size_t)count, sizeof *callers->list));
    for (; callers->count < count; callers->count++) {
        struct caller *caller = &callers->list[callers->count];
        *caller = (struct caller){.callers = callers, .index = callers->count};
        if (!clf__task_begin(&caller->task, call, caller)) {
            return clf__fail(CLF_OUT_OF_MEMORY, "cannot start %d threads; use a smaller --batch", count);
        }
    }
    return CLF_OK;
}

clf_status callers_run(long long *tokens, struct callers *callers)
{
    pthread_mutex_lock(&callers->lock);
    callers->working = callers->count;
    callers->round++;
    pthread_cond_broadcast(&callers->started);
    while (callers->working > 0) {
        pthread_cond_wait(&callers->finished, &callers->lock);
    }
    pthread_mutex_unlock(&callers->lock);
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
    pthread_mutex_lock(&callers->lock);
    callers->ends = 1;
    pthread_cond_broadcast(&callers->started);
    pthread_mutex_unlock(&callers->lock);
    for (int i = 0; i < callers->count; i++) {
        clf__task_wait(&callers->list[i].task);
    }
    pthread_cond_destroy(&callers->started);
    pthread_cond_destroy(&callers->finished);
    pthread_mutex_destroy(&callers->lock);
    clf__free(callers->list);
    clf__free(callers);
}
