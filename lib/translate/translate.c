/* text -> ids -> encoder -> search over decoder steps -> ids -> text */
#include <limits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "engine/terms.h"
#include "search/options.h"
#include "text/sentences/sentences.h"
#include "translate/internal.h"

static clf_status prepare(void *context, struct clf__lane *lane, struct clf__unit *unit)
{
    (void)context;
    (void)unit;
    return clf__lane_prepare(lane);
}

static clf_status prepare_lanes(struct clf_translator *translator)
{
    struct clf_engine *engine = translator->engine;
    for (int i = 0; i < engine->count; i++) {
        struct clf__lane *lane = &engine->lanes[i];
        pthread_mutex_lock(&engine->lock);
        int is_lost = lane->is_lost;
        pthread_mutex_unlock(&engine->lock);
        CLF__TRY(is_lost ? CLF_OK : clf__translator_run_task(translator, lane, prepare, NULL));
    }
    return CLF_OK;
}

clf_status clf_translator_prepare(struct clf_translator *translator)
{
    CLF__TRY(clf__translator_begin(translator));
    clf_status status = prepare_lanes(translator);
    clf__translator_end(translator);
    return status;
}

/* Warns once that a model trained on single sentences may drop some of a line's sentences. */
static void warn_of_sentences(struct clf__settings *settings, const struct clf_line *line)
{
    if (settings->warns_of_sentences && clf__sentences_are_several(line->text, line->size) &&
        atomic_exchange(&settings->warns_of_sentences, 0)) {
        clf__log(CLF_LOG_WARNING,
                 "a line contains several sentences, and a model trained on single sentences may drop some; "
                 "split_sentences (--split-sentences) translates each sentence separately");
    }
}

/* Reads the prefix that starts the line's search. If the number of steps is limited, the forced first token
 * is part of the prefix and does not count as a step. */
static clf_status read_prefix(const struct clf__work *work, struct clf__unit *unit, int line)
{
    const struct clf__request *request = &work->request;
    const struct clf__settings *settings = unit->settings;
    struct clf__search_options *search = &unit->search;
    const struct clf__ids *ids = request->begun != NULL ? &request->begun[line] : &unit->prefix;
    int starts = settings->takes_start;
    if (request->prefixes != NULL) {
        CLF__TRY(clf__prefix_read(&unit->prefix, settings, &request->prefixes[line]));
    }
    if (starts && ids->count == 0 && request->prefixes != NULL) { /* only this line fails */
        return unit->source.length == 0
                   ? CLF_OK
                   : clf__fail(CLF_TEXT, "the target prefix is empty, but this model's decoder starts with "
                                         "the first token of the prefix; add one");
    }
    if (starts && ids->count == 0) {
        return clf__settings_check_start(settings);
    }
    if (search->steps > 0 && ids->count == 0 && settings->options.forced_first >= 0) {
        CLF__TRY(clf__ids_append(&unit->prefix, settings->options.forced_first));
    }
    if (ids->count > 0) {
        search->start_id = starts ? ids->data[0] : search->start_id;
        search->prefix = ids->data + starts;
        search->prefix_count = ids->count - starts;
        search->prefix_is_prompt = 1;
        if (request->begun != NULL) {
            search->counts_prompt = 0; /* as in CTranslate2, the prompt of alternatives does not count */
            search->coverage_start = search->prefix_count;
        }
        return clf__search_check(search);
    }
    return CLF_OK;
}

static clf_status read_line(const struct clf__work *work, struct clf__unit *unit, int line)
{
    unit->settings = work->settings;
    unit->line = &work->request.lines[line];
    unit->result = &work->results[line];
    unit->search = work->settings->search;
    CLF__TRY(clf__translator_read(&unit->source, work->translator, unit->line));
    clf_status status = read_prefix(work, unit, line);
    if (status == CLF_OK && unit->source.length > 0 && unit->settings->glossary != NULL) {
        status = clf__terms_read(unit);
    }
    if (status != CLF_OK) {
        clf__source_free(&unit->source);
    }
    unit->cost = unit->source.length;
    return status;
}

static clf_status read_lines(struct clf__work *work)
{
    double start = clf__seconds();
    for (int i = 0; i < work->request.count; i++) {
        struct clf__unit *unit = &work->units[i];
        CLF__TRY(clf__call_ask(work->request.call, i));
        clf_status status = read_line(work, unit, i);
        CLF__TRY(clf__line_problem(status, &unit->result->status, &unit->result->problem));
        warn_of_sentences(work->settings, unit->line);
        unit->result->cut_from = unit->source.cut_from;
        unit->result->source_count = unit->source.length;
        work->times.lines += unit->source.length == 0; /* other lines are counted when they are translated */
    }
    work->times.tokenize += clf__seconds() - start;
    clf__engine_add_times(work->translator->engine, &work->times);
    return CLF_OK;
}

/* Returns the number of consecutive lines to sort by length together. Larger groups leave fewer slots idle;
 * smaller groups complete results earlier. */
static int group_size(struct clf_engine *engine)
{
    enum { LEAST_LINES = 256 };
    int64_t lines = (int64_t)clf__engine_batch(engine).max_lines * engine->count;
    return (int)clf__min_int64(clf__max_int64(lines, LEAST_LINES), INT_MAX);
}

/* Emits finished lines. */
static clf_status emit(void *context, int from, int to)
{
    const struct clf__work *work = context;
    return work->request.emit(work->request.user, work->results, from, to);
}

static clf_status begin(struct clf__work *work)
{
    const struct clf__request *request = &work->request;
    size_t count = (size_t)request->count;
    const struct clf_translate_options *options = &work->settings->options;
    int looks_back = options->alignment_layer > 0 || options->replace_unknown;
    CLF__TRY(clf__translator_check_lines(request->lines, request->count));
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->units, count, sizeof *work->units));
    CLF__TRY(request->prefixes == NULL || looks_back ? clf__settings_check_start(work->settings) : CLF_OK);
    atomic_fetch_add(&work->translator->engine->preparing, 1);
    clf_status status = read_lines(work);
    atomic_fetch_sub(&work->translator->engine->preparing, 1);
    CLF__TRY(status);
    work->job = (struct clf__job){.units = work->units,
                                  .count = request->count,
                                  .passed = request->emit != NULL ? emit : NULL,
                                  .context = work,
                                  .is_bulk = work->settings->options.priority == CLF_PRIORITY_BULK,
                                  .group = group_size(work->translator->engine)};
    for (int i = 0; i < request->count; i++) {
        work->job.longest_source = clf__max_int(work->job.longest_source, work->units[i].source.length);
    }
    return CLF_OK;
}

clf_status clf__work_begin(struct clf__work *work, struct clf_translator *translator,
                           struct clf__settings *settings, const struct clf__request *request)
{
    *work = (struct clf__work){.translator = translator, .settings = settings, .request = *request};
    return begin(work);
}

struct clf_translation *clf__work_take(struct clf__work *work)
{
    struct clf_translation *results = work->results;
    work->results = NULL;
    clf__work_free(work);
    return results;
}

void clf__work_free(struct clf__work *work)
{
    for (int i = 0; work->units != NULL && i < work->request.count; i++) {
        clf__source_free(&work->units[i].source);
        clf__ids_free(&work->units[i].prefix);
        clf__terms_free(work->units[i].terms);
        clf__free(work->units[i].streamed.text);
    }
    clf__free(work->units);
    clf_translations_free(work->results, work->request.count);
    work->units = NULL;
    work->results = NULL;
}

clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          struct clf__settings *settings, const struct clf__request *request)
{
    struct clf__work work;
    clf_status status = clf__work_begin(&work, translator, settings, request);
    if (status == CLF_OK) {
        status = clf__translator_run(translator, &work.job);
    }
    if (status == CLF_OK) {
        *out = clf__work_take(&work);
    }
    clf__work_free(&work);
    return status;
}

clf_status clf__emit_lines(void *user, struct clf_translation *results, int from, int to)
{
    struct clf__call *call = user;
    const struct clf_translate_options *options = call->options;
    for (int i = from; options->translated != NULL && i < to; i++) {
        options->translated(i, &results[i], options->payload);
    }
    atomic_store(&call->finished, to);
    return CLF_OK;
}

static clf_status begin_lines(struct clf__call *call)
{
    const struct clf__request request = {.lines = call->lines,
                                         .prefixes = call->others,
                                         .count = call->count,
                                         .emit = clf__emit_lines,
                                         .user = call,
                                         .call = call};
    CLF__TRY(clf__work_begin(&call->work, call->translator, call->translator->settings, &request));
    call->job = &call->work.job;
    return CLF_OK;
}

static clf_status end_lines(struct clf__call *call)
{
    call->translations = clf__work_take(&call->work);
    call->job = NULL;
    return CLF_OK;
}

const struct clf__call_kind clf__call_lines = {begin_lines, end_lines, NULL};
