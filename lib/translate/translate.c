/* text -> ids -> encoder -> search over decoder steps -> ids -> text */
#include <limits.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "text/sentences/sentences.h"
#include "translate/work.h"

static clf_status prepare(struct clf__worker *worker, void *context)
{
    (void)context;
    return clf__search_session(worker->translator);
}

clf_status clf_translator_prepare(struct clf_translator *translator)
{
    struct clf__queue none = {.count = 0};
    CLF__TRY(clf__translator_begin(translator));
    clf_status status = clf__worker_pool_run(translator, &none, prepare, NULL);
    clf__translator_end(translator);
    return status;
}

/* Warns once: a model of single sentences drops parts of longer lines. */
static void warn_of_sentences(struct clf_translator *translator, const struct clf_line *line)
{
    if (translator->settings->warns_of_sentences && clf__sentences_are_several(line->text, line->size)) {
        translator->settings->warns_of_sentences = 0;
        clf__log(CLF_LOG_WARNING,
                 "a line contains several sentences, and a model trained on single sentences may drop some; "
                 "split_sentences (--split-sentences) translates each sentence separately");
    }
}

/* Reads the prefix that starts the line's search. If the number of steps is limited, the forced first token
 * is part of the prefix and does not count as a step. */
static clf_status read_prefix(struct clf__work *work, int line, const struct clf__request *request)
{
    const struct clf_translator *translator = work->translator;
    struct clf__search_options *options = &work->options[line];
    const struct clf__ids *ids = request->begun != NULL ? &request->begun[line] : &work->prefixes[line];
    int starts = translator->settings->takes_start;
    *options = translator->settings->search;
    if (request->prefixes != NULL) {
        CLF__TRY(clf__prefix_read(&work->prefixes[line], translator->settings, &request->prefixes[line]));
    }
    if (starts && ids->count == 0 && request->prefixes != NULL) { /* only this line fails */
        return work->sources[line].length == 0
                   ? CLF_OK
                   : clf__fail(CLF_TEXT, "the target prefix is empty, but this model's decoder starts with "
                                         "the first token of the prefix; add one");
    }
    if (starts && ids->count == 0) {
        return clf__settings_check_start(translator->settings);
    }
    if (options->steps > 0 && ids->count == 0 && translator->settings->options.forced_first >= 0) {
        CLF__TRY(clf__ids_append(&work->prefixes[line], translator->settings->options.forced_first));
    }
    if (ids->count > 0) {
        options->start_id = starts ? ids->data[0] : options->start_id;
        options->prefix = ids->data + starts;
        options->prefix_count = ids->count - starts;
        options->prefix_is_prompt = 1;
        if (request->begun != NULL) {
            options->counts_prompt = 0; /* as in CTranslate2, the prompt of alternatives does not count */
            options->coverage_start = options->prefix_count;
        }
    }
    return CLF_OK;
}

static clf_status read_line(struct clf__work *work, int line, const struct clf__request *request)
{
    CLF__TRY(clf__source_read(&work->sources[line], work->translator->settings, work->translator->frame_maker,
                              &request->lines[line]));
    clf_status status = work->options != NULL ? read_prefix(work, line, request) : CLF_OK;
    if (status != CLF_OK) {
        clf__source_free(&work->sources[line]);
    }
    return status;
}

static clf_status read_sources(struct clf__work *work, const struct clf__request *request)
{
    double start = clf__seconds();
    for (int i = 0; i < work->count; i++) {
        struct clf_translation *result = &work->results[i];
        const struct clf__source *source = &work->sources[i];
        clf_status status = read_line(work, i, request);
        CLF__TRY(clf__line_problem(status, &result->status, &result->problem));
        warn_of_sentences(work->translator, &request->lines[i]);
        result->cut_from = source->cut_from;
        result->source_count = source->length;
        work->translator->times.lines +=
            source->length == 0; /* other lines are counted when they are translated */
    }
    work->translator->times.tokenize += clf__seconds() - start;
    return CLF_OK;
}

static int looks_back(const struct clf_translator *translator)
{
    return translator->settings->options.alignment_layer > 0 || translator->settings->options.replace_unknown;
}

/* Adds the alignment and replaces unknown tokens in one hypothesis. */
static clf_status look_back(const struct clf__work *work, struct clf_translator *translator, int line,
                            struct clf_hypothesis *hypothesis)
{
    CLF__TRY(clf__translator_go_on(translator));
    if (translator->settings->options.replace_unknown) {
        CLF__TRY(clf__unknown_replace(hypothesis, translator, &work->sources[line], &work->lines[line]));
    }
    return translator->settings->options.alignment_layer > 0
               ? clf__align(hypothesis, translator, &work->sources[line])
               : CLF_OK;
}

/* Returns whether a hypothesis is final: first tokens of alternatives are not, because their search
 * continues. */
static int is_whole(const struct clf_translator *translator, const struct clf_hypothesis *hypothesis)
{
    return translator->settings->search.steps == 0 ||
           hypothesis->count == translator->settings->search.max_length;
}

static clf_status look_back_line(const struct clf__work *work, struct clf_translator *translator, int line)
{
    double start = clf__seconds();
    for (int h = 0; h < work->results[line].count; h++) {
        struct clf_hypothesis *hypothesis = &work->results[line].hypotheses[h];
        CLF__TRY(is_whole(translator, hypothesis) ? look_back(work, translator, line, hypothesis) : CLF_OK);
    }
    translator->times.decode += clf__seconds() - start;
    return CLF_OK;
}

static clf_status look_back_lines(struct clf__worker *worker, void *context)
{
    for (int line; (line = clf__worker_next(worker)) >= 0;) {
        CLF__TRY(look_back_line(context, worker->translator, line));
        clf__worker_finish(worker, line);
    }
    return CLF_OK;
}

/* Returns the number of consecutive lines that are sorted by length together. In larger groups fewer slots
 * are free at a time; in smaller groups results are complete earlier. */
static int group_size(const struct clf_translator *translator)
{
    enum { LEAST_LINES = 256 };
    int64_t lines = 0;
    for (; translator != NULL; translator = translator->next) {
        lines += translator->max_lines;
    }
    return (int)clf__min_int64(clf__max_int64(lines, LEAST_LINES), INT_MAX);
}

/* Emits finished lines; the callback of struct clf__queue. */
static clf_status emit(void *context, int from, int to)
{
    const struct clf__work *work = context;
    return work->emit(work->user, work->results, from, to);
}

/* Sorts the lines of each group by length, longest first: a slot that becomes free is then long enough for
 * the waiting lines of the group, and the last steps have only short lines. */
static clf_status share_out(struct clf__work *work, clf__worker_work *done, const int *lengths, int is_last)
{
    struct clf__queue queue;
    clf_status status = clf__queue_create(&queue, lengths, work->count, group_size(work->translator));
    queue.passed = is_last && work->emit != NULL ? emit : NULL;
    if (status == CLF_OK && queue.count > 0) {
        status = clf__worker_pool_run(work->translator, &queue, done, work);
    } else if (status == CLF_OK && queue.passed != NULL && work->count > 0) {
        status = queue.passed(work, 0, work->count);
    }
    clf__queue_free(&queue);
    return status;
}

static clf_status search_and_look_back(struct clf__work *work, int *lengths)
{
    for (int i = 0; i < work->count; i++) {
        lengths[i] = work->sources[i].length;
    }
    int looks = looks_back(work->translator);
    CLF__TRY(share_out(work, clf__search_lines, lengths, !looks));
    for (int i = 0; i < work->count; i++) {
        lengths[i] = work->results[i].count > 0 ? work->sources[i].length : 0;
    }
    return looks ? share_out(work, look_back_lines, lengths, 1) : CLF_OK;
}

static clf_status run(struct clf__work *work, const struct clf__request *request)
{
    size_t count = (size_t)work->count;
    int *lengths;
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->sources, count, sizeof *work->sources));
    if (work->translator->settings->options.streamed != NULL) {
        CLF__TRY(clf__allocate(&work->streamed, count, sizeof *work->streamed));
    }
    if (request->prefixes != NULL || request->begun != NULL || work->translator->settings->search.steps > 0) {
        CLF__TRY(clf__allocate(&work->prefixes, count, sizeof *work->prefixes));
        CLF__TRY(clf__allocate(&work->options, count, sizeof *work->options));
    }
    CLF__TRY(request->prefixes == NULL || looks_back(work->translator)
                 ? clf__settings_check_start(work->translator->settings)
                 : CLF_OK);
    CLF__TRY(read_sources(work, request));
    int longest = 0;
    for (int i = 0; i < work->count; i++) {
        longest = clf__max_int(longest, work->sources[i].length);
    }
    CLF__TRY(clf__translator_ensure_lengths(work->translator, longest, 0));
    CLF__TRY(clf__allocate(&lengths, count, sizeof *lengths));
    clf_status status = search_and_look_back(work, lengths);
    clf__free(lengths);
    return status;
}

clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          const struct clf__request *request)
{
    int count = request->count;
    CLF__TRY(clf__translator_check_lines(request->lines, count));
    struct clf__work work = {.translator = translator,
                             .lines = request->lines,
                             .count = count,
                             .emit = request->emit,
                             .user = request->user};
    clf_status status = run(&work, request);
    for (int i = 0; work.prefixes != NULL && i < count; i++) {
        clf__ids_free(&work.prefixes[i]);
    }
    for (int i = 0; work.sources != NULL && i < count; i++) {
        clf__source_free(&work.sources[i]);
    }
    clf__free(work.sources);
    clf__free(work.prefixes);
    clf__streamed_free(work.streamed, count);
    clf__free(work.options);
    if (status != CLF_OK) {
        clf_translations_free(work.results, count);
        return status;
    }
    *out = work.results;
    return CLF_OK;
}

void clf__hypothesis_free(struct clf_hypothesis *hypothesis)
{
    clf__free(hypothesis->text);
    clf__free(hypothesis->ids);
    clf__free(hypothesis->alignment);
}

void clf_translations_free(struct clf_translation *translations, int count)
{
    if (translations == NULL) {
        return;
    }
    for (int i = 0; i < count; i++) {
        struct clf_translation *translation = &translations[i];
        for (int h = 0; h < translation->count; h++) {
            clf__hypothesis_free(&translation->hypotheses[h]);
        }
        clf__free(translation->hypotheses);
        clf__free(translation->problem);
    }
    clf__free(translations);
}
