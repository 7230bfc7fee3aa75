/* The hooks of a job, which run on the thread that waits for it or on the service thread. */
#include "base/memory.h"
#include "engine/internal.h"
#include "search/search.h"

/* Takes the parts that were streamed so far. */
static struct clf__part *take_parts(struct clf__job *job)
{
    struct clf__part *parts = job->parts;
    job->parts = job->last_part = NULL;
    return parts;
}

static int count_finished(const struct clf__job *job)
{
    int to = job->passed_count;
    while (to < job->count && (job->units[to].cost == 0 || job->units[to].state == CLF__UNIT_DONE)) {
        to++;
    }
    return to;
}

/* Passes a token to the hook, and notes if the translation ends with this token. */
static void pass_token(struct clf__job *job, const struct clf__part *part)
{
    struct clf__emitted *emitted = &job->units[part->line].emitted;
    const struct clf_translate_options *options = job->options;
    if (emitted->kept == 0 && options->generated(part->line, &part->token, options->payload)) {
        pthread_mutex_lock(&job->engine->lock);
        emitted->kept = part->token.step + 1;
        emitted->kept_sum = part->sum;
        pthread_mutex_unlock(&job->engine->lock);
    }
}

static void pass_part(struct clf__job *job, const struct clf__part *part)
{
    if (part->text != NULL) {
        job->options->streamed(part->line, part->text, part->size, job->options->payload);
    } else {
        pass_token(job, part);
    }
}

/* Frees parts; with `job`, they are first passed to its hooks. */
static void end_parts(struct clf__part *parts, struct clf__job *job)
{
    while (parts != NULL) {
        struct clf__part *next = parts->next;
        if (job != NULL) {
            pass_part(job, parts);
        }
        clf__free(parts->text);
        clf__free((float *)parts->token.logits);
        clf__free(parts);
        parts = next;
    }
}

/* Removes the tokens after the last one that the hook wanted from the result of a line that is done. */
static clf_status cut_tokens(const struct clf__unit *unit)
{
    int kept = unit->emitted.kept;
    if (kept == 0 || unit->result->count == 0 || unit->result->hypotheses[0].count < kept) {
        return CLF_OK;
    }
    struct clf_hypothesis *hypothesis = &unit->result->hypotheses[0];
    clf__free(hypothesis->text);
    hypothesis->text = NULL;
    hypothesis->count = kept;
    hypothesis->log_probability = unit->emitted.kept_sum;
    hypothesis->score = clf__search_score(&unit->search, kept, unit->emitted.kept_sum);
    return clf__tokenizer_decode(unit->settings->model->tokenizer, &hypothesis->text, hypothesis->ids, kept,
                                 unit->settings->options.subwords);
}

/* Asks the owner of a job what each returned unit does next. */
static clf_status pass_returned(struct clf__job *job)
{
    clf_status status = CLF_OK;
    while (status == CLF_OK) {
        int next = CLF__NEXT_NONE;
        pthread_mutex_lock(&job->engine->lock);
        struct clf__unit *unit = job->is_cancelled ? NULL : clf__queue_take_returned(job);
        pthread_mutex_unlock(&job->engine->lock);
        if (unit == NULL) {
            return CLF_OK;
        }
        status = job->returned(job->context, unit, &next);
        pthread_mutex_lock(&job->engine->lock);
        clf__queue_renew(unit, status == CLF_OK ? next : CLF__NEXT_NONE);
        pthread_mutex_unlock(&job->engine->lock);
    }
    return status;
}

clf_status clf__job_pass(struct clf__job *job)
{
    CLF__TRY(job->returned != NULL ? pass_returned(job) : CLF_OK);
    pthread_mutex_lock(&job->engine->lock);
    struct clf__part *parts = take_parts(job);
    int from = job->passed_count, to = job->is_cancelled ? from : count_finished(job);
    job->passed_count = to;
    pthread_mutex_unlock(&job->engine->lock);
    end_parts(parts, job);
    for (int i = from; i < to; i++) {
        CLF__TRY(cut_tokens(&job->units[i]));
    }
    return to > from && job->passed != NULL ? job->passed(job->context, from, to) : CLF_OK;
}

clf_status clf__job_go_on(struct clf__job *job)
{
    const struct clf_translate_options *options = job->options;
    CLF__TRY(clf__job_pass(job));
    if (job->times != NULL) {
        clf__engine_copy_times(job->engine, job->times);
    }
    if (options->poll != NULL) {
        options->poll(options->payload);
    }
    int stops = options->interrupted != NULL && options->interrupted(options->payload);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

void clf__job_stream(struct clf__job *job, struct clf__part *part)
{
    pthread_mutex_lock(&job->engine->lock);
    if (job->last_part != NULL) {
        job->last_part->next = part;
    } else {
        job->parts = part;
    }
    job->last_part = part;
    clf__job_notify(job);
    pthread_mutex_unlock(&job->engine->lock);
}

void clf__job_drop_parts(struct clf__job *job)
{
    end_parts(take_parts(job), NULL);
}
