/* Jobs: calls that run in the background. The service thread of the engine starts the next job of a call when
 * one is over. */
#include <string.h>

#include <clformer/engine.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "engine/internal.h"
#include "translate/internal.h"

struct clf_job {
    struct clf__call call;
    struct clf_translate_options hooks; /* options of the translator, with the payload of the job */
    struct clf_job_options options;
    struct clf_engine *engine;
    struct clf_line *lines; /* (count) copies, with their text after them */
    int scores;             /* pairs to score */
    struct clf__failure failure;
    /* Guarded by the engine's lock. */
    pthread_cond_t ended;
    struct clf__job *running;
    int is_cancelled;
    int is_complete; /* the results or the failure are available */
    int is_over;     /* `finished` has returned: the service thread does not use the job any more */
    int is_freed;    /* by a callback; the service thread frees it */
};

void clf_job_options_init_sized(struct clf_job_options *options, size_t size)
{
    const struct clf_job_options defaults = {.size = sizeof defaults};
    clf__options_init(options, size, &defaults);
}

static void free_job(struct clf_job *job)
{
    clf__call_free(&job->call);
    pthread_cond_destroy(&job->ended);
    clf__free(job->lines);
    clf__free(job);
}

static clf_status copy_lines(struct clf_line **out, const struct clf_line *lines, int count)
{
    size_t size = 0, first = (size_t)count * sizeof *lines;
    for (int i = 0; i < count; i++) {
        size += lines[i].size;
    }
    CLF__TRY(clf__allocate(out, 1, first + size));
    char *text = (char *)*out + first;
    for (int i = 0; i < count; i++) {
        (*out)[i] = (struct clf_line){text, lines[i].size};
        if (lines[i].size > 0) {
            memcpy(text, lines[i].text, lines[i].size);
        }
        text += lines[i].size;
    }
    return CLF_OK;
}

static void over(void *owner, const struct clf__failure *failure);

static clf_status fail_cancelled(void)
{
    return clf__fail(CLF_INTERRUPTED, "the job was cancelled");
}

/* Starts the next job of a call. Afterwards, a callback may have freed the call. */
static clf_status start(struct clf_job *job)
{
    struct clf_engine *engine = job->engine;
    struct clf__job *next = job->call.job;
    next->options = &job->hooks;
    next->over = over;
    next->owner = job;
    CLF__TRY(clf__job_prepare(engine, next));
    pthread_mutex_lock(&engine->lock);
    clf_status status = job->is_cancelled ? fail_cancelled() : clf__job_enter(engine, next);
    if (status == CLF_OK) {
        job->running = next;
    }
    pthread_mutex_unlock(&engine->lock);
    if (status != CLF_OK) {
        clf__job_end(next);
    }
    return status;
}

/* Calls `finished`. Another thread may free the job as soon as it is over. */
static void finish(struct clf_job *job)
{
    struct clf_engine *engine = job->engine;
    pthread_mutex_lock(&engine->lock);
    job->is_complete = 1;
    int is_freed = job->is_freed;
    pthread_mutex_unlock(&engine->lock);
    if (is_freed) {
        clf__translator_end(job->call.translator);
    } else if (job->options.finished != NULL) {
        job->options.finished(job, job->options.payload);
    }
    pthread_mutex_lock(&engine->lock);
    job->is_over = 1;
    is_freed = job->is_freed;
    pthread_cond_broadcast(&job->ended);
    pthread_mutex_unlock(&engine->lock);
    if (is_freed) {
        free_job(job);
    }
}

/* Called on the service thread when a job of the call is over. */
static void over(void *owner, const struct clf__failure *failure)
{
    struct clf_job *job = owner;
    pthread_mutex_lock(&job->engine->lock);
    job->running = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    clf_status status = clf__failure_again(failure);
    if (status == CLF_OK) {
        status = job->call.kind->advance(&job->call);
    }
    if (status == CLF_OK && job->call.job != NULL) {
        status = start(job);
        if (status == CLF_OK) {
            return;
        }
    }
    job->failure = clf__failure_keep(status);
    finish(job);
}

/* Begins a call, and starts its first job. On failure the caller frees the job. */
static clf_status begin(struct clf_job *job, struct clf_translator *translator, const struct clf_line *lines,
                        const struct clf_line *others)
{
    struct clf__call *call = &job->call;
    job->hooks = translator->settings->options;
    job->hooks.payload = job->options.payload != NULL ? job->options.payload : job->hooks.payload;
    call->options = &job->hooks;
    CLF__TRY(clf__translator_check_lines(lines, call->count));
    if (!job->scores) {
        CLF__TRY(copy_lines(&job->lines, lines, call->count));
    }
    call->lines = job->scores ? lines : job->lines;
    call->others = others;
    CLF__TRY(call->kind->begin(call));
    return start(job);
}

static clf_status submit(struct clf_job **out, const struct clf__call *call,
                         const struct clf_job_options *options)
{
    struct clf_job *job;
    struct clf_translator *translator = call->translator;
    CLF__TRY(clf__allocate(&job, 1, sizeof *job));
    job->call = *call;
    job->options = *options;
    job->scores = call->kind == &clf__call_scores;
    job->engine = translator->engine;
    clf__condition_init(&job->ended);
    atomic_fetch_add(&translator->calls, 1);
    *out = job;
    clf_status status = begin(job, translator, call->lines, call->others);
    if (status != CLF_OK) {
        *out = NULL;
        clf__translator_end(translator);
        free_job(job);
    }
    return status;
}

static clf_status check(struct clf_job_options *own, const struct clf_translator *translator,
                        const struct clf_job_options *options)
{
    clf_job_options_init(own);
    CLF__TRY(clf__options_take(own, sizeof *own, options, "clf_job_options"));
    return translator != NULL
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "translator: is NULL; create one with clf_translator_create()");
}

clf_status clf_translate_submit(struct clf_job **out, struct clf_translator *translator,
                                const struct clf_line *lines, int count,
                                const struct clf_job_options *options)
{
    struct clf_job_options own;
    *out = NULL;
    CLF__TRY(check(&own, translator, options));
    const struct clf__call call = {.kind = clf__call_kind_of(translator),
                                   .translator = translator,
                                   .lines = lines,
                                   .others = own.prefixes,
                                   .count = count};
    return submit(out, &call, &own);
}

clf_status clf_score_submit(struct clf_job **out, struct clf_translator *translator,
                            const struct clf_line *sources, const struct clf_line *targets, int count,
                            const struct clf_job_options *options)
{
    struct clf_job_options own;
    *out = NULL;
    CLF__TRY(check(&own, translator, options));
    if (own.prefixes != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "prefixes: are for translations; set them to NULL to score targets");
    }
    const struct clf__call call = {.kind = &clf__call_scores,
                                   .translator = translator,
                                   .lines = sources,
                                   .others = targets,
                                   .count = count};
    return submit(out, &call, &own);
}

int clf_job_poll(struct clf_job *job, int *lines)
{
    pthread_mutex_lock(&job->engine->lock);
    int is_over = job->is_over;
    pthread_mutex_unlock(&job->engine->lock);
    if (lines != NULL) {
        *lines = atomic_load(&job->call.finished);
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
    int can_wait = !clf__service_is_here(engine);
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

/* Cancels a job, with the engine's lock. */
static void cancel(struct clf_job *job)
{
    struct clf__failure failure = clf__failure_keep(fail_cancelled());
    job->is_cancelled = 1;
    if (job->running != NULL) {
        clf__job_cancel(job->running, &failure);
    }
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

/* Checks that the calling thread may take the results of a job. */
static clf_status check_take(struct clf_job *job, int scores)
{
    CLF__TRY(check_job(job));
    struct clf_engine *engine = job->engine;
    pthread_mutex_lock(&engine->lock);
    int may_take = job->is_over || (job->is_complete && clf__service_is_here(engine));
    pthread_mutex_unlock(&engine->lock);
    if (!may_take) {
        return clf__fail(CLF_BAD_ARGUMENT, "the job is not over; call clf_job_wait() first");
    }
    if (scores != job->scores) {
        return clf__fail(CLF_BAD_ARGUMENT, "the job has %s; call %s()", scores ? "translations" : "scores",
                         scores ? "clf_job_take" : "clf_job_take_scores");
    }
    return clf__failure_again(&job->failure);
}

static clf_status fail_taken(void)
{
    return clf__fail(CLF_BAD_ARGUMENT, "the results of the job have already been taken");
}

clf_status clf_job_take(struct clf_translation **out, struct clf_job *job)
{
    *out = NULL;
    CLF__TRY(check_take(job, 0));
    pthread_mutex_lock(&job->engine->lock);
    *out = job->call.translations;
    job->call.translations = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    return *out != NULL ? CLF_OK : fail_taken();
}

clf_status clf_job_take_scores(struct clf_score **out, struct clf_job *job)
{
    *out = NULL;
    CLF__TRY(check_take(job, 1));
    pthread_mutex_lock(&job->engine->lock);
    *out = job->call.scores;
    job->call.scores = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    return *out != NULL ? CLF_OK : fail_taken();
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
    while (!job->is_over && !clf__service_is_here(engine)) {
        pthread_cond_wait(&job->ended, &engine->lock);
    }
    int is_over = job->is_over, is_complete = job->is_complete;
    job->is_freed = 1;
    pthread_mutex_unlock(&engine->lock);
    if (is_complete) {
        clf__translator_end(job->call.translator);
    }
    if (is_over) {
        free_job(job);
    }
}
