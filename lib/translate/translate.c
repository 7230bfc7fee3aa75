/* text -> ids -> encoder -> search over decoder steps -> ids -> text */
#include <limits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
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

/* The lines of one call. */
struct work {
    struct clf_translator *translator;
    struct clf__settings *settings;
    const struct clf__request *request;
    struct clf__unit *units;         /* (request->count) */
    struct clf_translation *results; /* (request->count) */
    struct clf_stage_times times;    /* time spent reading lines */
};

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
static clf_status read_prefix(const struct work *work, struct clf__unit *unit, int line)
{
    const struct clf__request *request = work->request;
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

static clf_status read_line(const struct work *work, struct clf__unit *unit, int line)
{
    unit->settings = work->settings;
    unit->line = &work->request->lines[line];
    unit->result = &work->results[line];
    unit->search = work->settings->search;
    CLF__TRY(clf__translator_read(&unit->source, work->translator, unit->line));
    clf_status status = read_prefix(work, unit, line);
    if (status != CLF_OK) {
        clf__source_free(&unit->source);
    }
    unit->cost = unit->source.length;
    return status;
}

static clf_status read_lines(struct work *work)
{
    double start = clf__seconds();
    for (int i = 0; i < work->request->count; i++) {
        struct clf__unit *unit = &work->units[i];
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
    const struct work *work = context;
    return work->request->emit(work->request->user, work->results, from, to);
}

static clf_status run(struct work *work)
{
    const struct clf__request *request = work->request;
    size_t count = (size_t)request->count;
    const struct clf_translate_options *options = &work->settings->options;
    int looks_back = options->alignment_layer > 0 || options->replace_unknown;
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->units, count, sizeof *work->units));
    CLF__TRY(request->prefixes == NULL || looks_back ? clf__settings_check_start(work->settings) : CLF_OK);
    CLF__TRY(read_lines(work));
    struct clf__job job = {.units = work->units,
                           .count = request->count,
                           .passed = request->emit != NULL ? emit : NULL,
                           .context = work,
                           .group = group_size(work->translator->engine)};
    for (int i = 0; i < request->count; i++) {
        job.longest_source = clf__max_int(job.longest_source, work->units[i].source.length);
    }
    return clf__translator_run(work->translator, &job);
}

clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          struct clf__settings *settings, const struct clf__request *request)
{
    CLF__TRY(clf__translator_check_lines(request->lines, request->count));
    struct work work = {.translator = translator, .settings = settings, .request = request};
    clf_status status = run(&work);
    for (int i = 0; work.units != NULL && i < request->count; i++) {
        clf__source_free(&work.units[i].source);
        clf__ids_free(&work.units[i].prefix);
        clf__free(work.units[i].streamed.text);
    }
    clf__free(work.units);
    if (status != CLF_OK) {
        clf_translations_free(work.results, request->count);
        return status;
    }
    *out = work.results;
    return CLF_OK;
}
