#include "engine/handle.h"

#include "base/clock.h"
#include "base/options.h"
#include "engine/internal.h"

/* The job whose callbacks run on this thread, which belongs to the job. */
static _Thread_local const struct clf_job *here;

void clf_job_options_init_sized(struct clf_job_options *options, size_t size)
{
    const struct clf_job_options defaults = {.size = sizeof defaults};
    clf__options_init(options, size, &defaults);
}

clf_status clf__handle_options(struct clf_job_options *out, const struct clf_job_options *options)
{
    clf_job_options_init(out);
    return clf__options_take(out, sizeof *out, options, "clf_job_options");
}

void clf__handle_init(struct clf_job *job, const struct clf__handle_kind *kind, struct clf_engine *engine,
                      const struct clf_job_options *options)
{
    job->kind = kind;
    job->engine = engine;
    job->options = *options;
    clf__condition_init(&job->ended);
}

void clf__handle_free(struct clf_job *job)
{
    pthread_cond_destroy(&job->ended);
    job->kind->free(job);
}

void clf__handle_set_here(const struct clf_job *job)
{
    here = job;
}

int clf__handle_is_here(const struct clf_engine *engine)
{
    return clf__service_is_here(engine) || (here != NULL && here->engine == engine);
}

void clf__handle_finish(struct clf_job *job, clf_status status)
{
    struct clf_engine *engine = job->engine;
    job->failure = clf__failure_keep(status);
    pthread_mutex_lock(&engine->lock);
    job->is_complete = 1;
    int is_freed = job->is_freed;
    pthread_mutex_unlock(&engine->lock);
    if (is_freed) {
        job->kind->leave(job);
    } else if (job->options.finished != NULL) {
        job->options.finished(job, job->options.payload);
    }
    pthread_mutex_lock(&engine->lock);
    job->is_over = 1;
    is_freed = job->is_freed;
    pthread_cond_broadcast(&job->ended); /* another thread may free the job now */
    pthread_mutex_unlock(&engine->lock);
    if (is_freed) {
        clf__handle_free(job);
    }
}

int clf_job_poll(struct clf_job *job, int *lines)
{
    pthread_mutex_lock(&job->engine->lock);
    int is_over = job->is_over;
    pthread_mutex_unlock(&job->engine->lock);
    if (lines != NULL) {
        *lines = job->kind->count(job);
    }
    return is_over;
}

static clf_status check_job(const struct clf_job *job)
{
    return job != NULL ? CLF_OK
                       : clf__fail(CLF_BAD_ARGUMENT, "job: is NULL; submit one with clf_translate_submit()");
}

clf_status clf_job_wait(int *is_over, struct clf_job *job, int milliseconds)
{
    *is_over = 0;
    CLF__TRY(check_job(job));
    struct clf_engine *engine = job->engine;
    int can_wait = !clf__handle_is_here(engine);
    double end = clf__seconds() + milliseconds / 1e3, left = milliseconds / 1e3;
    pthread_mutex_lock(&engine->lock);
    while (can_wait && !job->is_over && (milliseconds < 0 || left > 0)) {
        enum { LONGEST = 1000 }; /* a wait without a limit is repeated */
        clf__engine_wait(engine, &job->ended, milliseconds < 0 || left > 1 ? LONGEST : 1 + (int)(1e3 * left));
        left = end - clf__seconds();
    }
    *is_over = job->is_over;
    pthread_mutex_unlock(&engine->lock);
    return *is_over || can_wait
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "a callback cannot wait for a job; use options.finished");
}

clf_status clf__handle_fail_cancelled(void)
{
    return clf__fail(CLF_INTERRUPTED, "the job was cancelled");
}

/* Cancels a job, with the engine's lock. */
static void cancel(struct clf_job *job)
{
    struct clf__failure failure = clf__failure_keep(clf__handle_fail_cancelled());
    job->is_cancelled = 1;
    job->kind->cancel(job, &failure);
}

void clf_job_cancel(struct clf_job *job)
{
    if (job == NULL) {
        return;
    }
    pthread_mutex_lock(&job->engine->lock);
    cancel(job);
    pthread_mutex_unlock(&job->engine->lock);
}

clf_status clf__handle_check_take(struct clf_job *job, const struct clf__handle_kind *kind)
{
    CLF__TRY(check_job(job));
    struct clf_engine *engine = job->engine;
    pthread_mutex_lock(&engine->lock);
    int may_take = job->is_over || (job->is_complete && clf__handle_is_here(engine));
    pthread_mutex_unlock(&engine->lock);
    if (!may_take) {
        return clf__fail(CLF_BAD_ARGUMENT, "the job is not over; call clf_job_wait() first");
    }
    if (kind != job->kind) {
        return clf__fail(CLF_BAD_ARGUMENT, "the job has %s; call %s()", job->kind->results, job->kind->take);
    }
    return clf__failure_again(&job->failure);
}

clf_status clf__handle_fail_taken(void)
{
    return clf__fail(CLF_BAD_ARGUMENT, "the results of the job have already been taken");
}

void clf_job_free(struct clf_job *job)
{
    if (job == NULL) {
        return;
    }
    struct clf_engine *engine = job->engine;
    pthread_mutex_lock(&engine->lock);
    if (!job->is_complete) {
        cancel(job);
    }
    while (!job->is_over && !clf__handle_is_here(engine)) {
        pthread_cond_wait(&job->ended, &engine->lock);
    }
    int is_over = job->is_over, is_complete = job->is_complete;
    job->is_freed = 1;
    pthread_mutex_unlock(&engine->lock);
    if (is_complete) {
        job->kind->leave(job);
    }
    if (is_over) {
        clf__handle_free(job);
    }
}
