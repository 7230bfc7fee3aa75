#include <clformer/translator.h>

#include "base/log.h"
#include "base/memory.h"
#include "translate/internal.h"

/* The translator whose hooks run on this thread. */
static _Thread_local const struct clf_translator *caller;

clf_status clf__translator_begin(struct clf_translator *translator)
{
    if (translator == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "translator: is NULL; create one with clf_translator_create()");
    }
    if (caller == translator) {
        return clf__fail(CLF_BAD_ARGUMENT, "the translator was called from its own callback; call it after "
                                           "the running call has returned");
    }
    if (clf__service_is_here(translator->engine)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "the translator was called from the callback of a job, which would "
                         "delay all other callbacks; submit another job");
    }
    atomic_fetch_add(&translator->calls, 1);
    return CLF_OK;
}

void clf__translator_end(struct clf_translator *translator)
{
    clf__engine_copy_times(translator->engine, &translator->times);
    atomic_fetch_sub(&translator->calls, 1);
}

clf_status clf__translator_check_lines(const struct clf_line *lines, int count)
{
    if (count < 0 || (count > 0 && lines == NULL)) {
        return clf__fail(CLF_BAD_ARGUMENT, "count: is %d, %s", count,
                         count < 0 ? "but cannot be negative" : "but the list of lines is NULL");
    }
    return CLF_OK;
}

clf_status clf__call_ask(const struct clf__call *call, int line)
{
    enum { LINES = 256 };
    if (call == NULL || !call->is_here || line % LINES != LINES - 1 || call->options->interrupted == NULL) {
        return CLF_OK;
    }
    const struct clf_translator *before = caller;
    caller = call->translator; /* which the hook must not call */
    int stops = call->options->interrupted(call->options->payload);
    caller = before;
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

clf_status clf__translator_run(struct clf_translator *translator, struct clf__job *job)
{
    const struct clf_translator *before = caller;
    job->options = &translator->settings->options;
    job->times = &translator->times;
    caller = translator;
    clf_status status = clf__job_run(translator->engine, job);
    caller = before;
    return status;
}

clf_status clf__translator_run_task(struct clf_translator *translator, struct clf__lane *lane,
                                    clf__unit_run *run, void *context)
{
    struct clf__unit unit = {.cost = 1};
    struct clf__job job = {.units = &unit, .count = 1, .run = run, .context = context, .lane = lane};
    return clf__translator_run(translator, &job);
}

clf_status clf__translator_read(struct clf__source *out, struct clf_translator *translator,
                                const struct clf_line *line)
{
    struct clf_engine *engine = translator->engine;
    if (engine->frame_maker == NULL) {
        return clf__source_read(out, translator->settings, NULL, line);
    }
    pthread_mutex_lock(&engine->frames_lock);
    clf_status status = clf__source_read(out, translator->settings, engine->frame_maker, line);
    pthread_mutex_unlock(&engine->frames_lock);
    return status;
}

void clf_translator_free(struct clf_translator *translator)
{
    if (translator == NULL) {
        return;
    }
    int is_inside = translator->owns_engine && translator->engine != NULL &&
                    clf__service_is_here(translator->engine); /* its threads cannot end now */
    if (atomic_load(&translator->calls) > 0 || is_inside) {
        clf__log(CLF_LOG_WARNING,
                 "the translator was not freed, because it is in use; free its jobs first, and do not "
                 "free it in its own callbacks");
        return;
    }
    clf__engine_leave(translator->engine, translator->owns_engine);
    clf__settings_free(translator->settings);
    clf__free(translator);
}

const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator)
{
    return &translator->times;
}

const struct clf_translator_device *clf_translator_device_at(struct clf_translator *translator, int index)
{
    struct clf_engine *engine = translator->engine;
    if (index < 0 || index >= engine->count) {
        return NULL;
    }
    pthread_mutex_lock(&engine->lock);
    const struct clf__lane *lane = &engine->lanes[index];
    translator->device_times = lane->view.times;
    translator->described = (struct clf_translator_device){
        .size = sizeof translator->described,
        .device = clf_device_describe(lane->model->transformer->device),
        .batch_tokens = lane->view.batch_tokens,
        .batch_lines = lane->view.max_lines,
        .is_lost = lane->is_lost || lane->model->is_lost,
        .times = &translator->device_times,
    };
    pthread_mutex_unlock(&engine->lock);
    return &translator->described;
}
