/* Jobs that translate or score. The service thread of the engine starts the next job of a call when one is
 * over. */
#include <string.h>

#include <clformer/engine.h>

#include "base/memory.h"
#include "engine/handle.h"
#include "engine/internal.h"
#include "translate/internal.h"

struct text_job {
    struct clf_job handle;
    struct clf__call call;
    struct clf_translate_options hooks; /* options of the translator, with the payload of the job */
    struct clf_line *lines;             /* (count) copies, with their text after them */
    struct clf__job *running;           /* guarded by the engine's lock */
};

static void free_job(struct clf_job *handle)
{
    struct text_job *job = (struct text_job *)handle;
    clf__call_free(&job->call);
    clf__free(job->lines);
    clf__free(job);
}

static void leave(struct clf_job *handle)
{
    clf__translator_end(((struct text_job *)handle)->call.translator);
}

static int count_finished(struct clf_job *handle)
{
    return atomic_load(&((struct text_job *)handle)->call.finished);
}

/* With the engine's lock. */
static void cancel(struct clf_job *handle, const struct clf__failure *failure)
{
    struct text_job *job = (struct text_job *)handle;
    if (job->running != NULL) {
        clf__job_cancel(job->running, failure);
    }
}

static const struct clf__handle_kind translations = {.results = "translations",
                                                     .take = "clf_job_take",
                                                     .cancel = cancel,
                                                     .leave = leave,
                                                     .free = free_job,
                                                     .count = count_finished};
static const struct clf__handle_kind scores = {.results = "scores",
                                               .take = "clf_job_take_scores",
                                               .cancel = cancel,
                                               .leave = leave,
                                               .free = free_job,
                                               .count = count_finished};

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

/* Starts the next job of a call. Afterwards, a callback may have freed the call. */
static clf_status start(struct text_job *job)
{
    struct clf_engine *engine = job->handle.engine;
    struct clf__job *next = job->call.job;
    next->options = &job->hooks;
    next->over = over;
    next->owner = job;
    CLF__TRY(clf__job_prepare(engine, next));
    pthread_mutex_lock(&engine->lock);
    clf_status status =
        job->handle.is_cancelled ? clf__handle_fail_cancelled() : clf__job_enter(engine, next);
    if (status == CLF_OK) {
        job->running = next;
    }
    pthread_mutex_unlock(&engine->lock);
    if (status != CLF_OK) {
        clf__job_end(next);
    }
    return status;
}

/* Called on the service thread when a job of the call is over. */
static void over(void *owner, const struct clf__failure *failure)
{
    struct text_job *job = owner;
    pthread_mutex_lock(&job->handle.engine->lock);
    job->running = NULL;
    pthread_mutex_unlock(&job->handle.engine->lock);
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
    clf__handle_finish(&job->handle, status);
}

/* Begins a call, and starts its first job. On failure the caller frees the job. */
static clf_status begin(struct text_job *job, struct clf_translator *translator, const struct clf_line *lines,
                        const struct clf_line *others)
{
    struct clf__call *call = &job->call;
    job->hooks = translator->settings->options;
    void *payload = job->handle.options.payload;
    job->hooks.payload = payload != NULL ? payload : job->hooks.payload;
    call->options = &job->hooks;
    CLF__TRY(clf__translator_check_lines(lines, call->count));
    int is_text = job->handle.kind == &translations;
    if (is_text) {
        CLF__TRY(copy_lines(&job->lines, lines, call->count));
    }
    call->lines = is_text ? job->lines : lines;
    call->others = others;
    CLF__TRY(call->kind->begin(call));
    return start(job);
}

static clf_status submit(struct clf_job **out, const struct clf__call *call,
                         const struct clf_job_options *options)
{
    struct text_job *job;
    struct clf_translator *translator = call->translator;
    CLF__TRY(clf__allocate(&job, 1, sizeof *job));
    job->call = *call;
    clf__handle_init(&job->handle, call->kind == &clf__call_scores ? &scores : &translations,
                     translator->engine, options);
    atomic_fetch_add(&translator->calls, 1);
    *out = &job->handle;
    clf_status status = begin(job, translator, call->lines, call->others);
    if (status != CLF_OK) {
        *out = NULL;
        clf__translator_end(translator);
        clf__handle_free(&job->handle);
    }
    return status;
}

static clf_status check(struct clf_job_options *own, const struct clf_translator *translator,
                        const struct clf_job_options *options)
{
    CLF__TRY(clf__handle_options(own, options));
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

clf_status clf_job_take(struct clf_translation **out, struct clf_job *job)
{
    *out = NULL;
    CLF__TRY(clf__handle_check_take(job, &translations));
    struct text_job *own = (struct text_job *)job;
    pthread_mutex_lock(&job->engine->lock);
    *out = own->call.translations;
    own->call.translations = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    return *out != NULL ? CLF_OK : clf__handle_fail_taken();
}

clf_status clf_job_take_scores(struct clf_score **out, struct clf_job *job)
{
    *out = NULL;
    CLF__TRY(clf__handle_check_take(job, &scores));
    struct text_job *own = (struct text_job *)job;
    pthread_mutex_lock(&job->engine->lock);
    *out = own->call.scores;
    own->call.scores = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    return *out != NULL ? CLF_OK : clf__handle_fail_taken();
}
