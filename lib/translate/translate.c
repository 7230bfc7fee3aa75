/* text -> ids -> encoder -> search over decoder steps -> ids -> text */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "text/sentences.h"
#include "translate/internal.h"

/* The lines of one call while they are worked on. */
struct work {
    struct clf_translator *translator;
    struct clf__source *sources;         /* (count) */
    struct clf__ids *prefixes;           /* (count) what targets begin with, where it is read here; or NULL */
    struct clf__search_options *options; /* (count) beside these */
    struct clf_translation *results;
    int count;
    int *order;             /* (count) the lines that have anything to translate, longest first */
    int sorted;             /* how many they are */
    int next;               /* the first of them that waits */
    struct clf__told *told; /* (count) NULL: nobody is told before the end */
    struct clf__search *search;
    int slot_count;          /* of the search */
    int *slots;              /* (count) where lines come in */
    int searched;            /* lines under search */
    int64_t searched_tokens; /* of them */
};

static clf_status make_session(struct clf_translator *translator)
{
    if (translator->session != NULL) {
        return CLF_OK;
    }
    struct clf__session_limits limits = clf__translator_limits(translator, translator->max_lines);
    return clf__session_create(&translator->session, translator->model->transformer, &limits);
}

clf_status clf_translator_prepare(struct clf_translator *translator)
{
    CLF__TRY(clf__translator_begin(translator));
    clf_status status = make_session(translator);
    clf__translator_end(translator);
    return status;
}

static clf_status keep_hypotheses(struct clf_translator *translator, struct clf_translation *result,
                                  const struct clf__hypothesis *hypotheses, int count)
{
    if (count == 0) {
        clf_status none =
            clf__fail(CLF_TEXT, "the search found no translation: every token is suppressed, or "
                                "the model's numbers are not finite");
        return clf__line_problem(none, &result->status, &result->problem);
    }
    CLF__TRY(clf__allocate(&result->hypotheses, (size_t)count, sizeof *result->hypotheses));
    result->count = count;
    for (int i = 0; i < count; i++) {
        struct clf_hypothesis *kept = &result->hypotheses[i];
        size_t length = (size_t)hypotheses[i].length;
        CLF__TRY(clf__tokenizer_decode(translator->model->tokenizer, &kept->text, hypotheses[i].ids,
                                       hypotheses[i].length, translator->options.pieces));
        CLF__TRY(clf__allocate(&kept->ids, length, sizeof *kept->ids));
        memcpy(kept->ids, hypotheses[i].ids, length * sizeof *kept->ids);
        kept->count = hypotheses[i].length;
        kept->score = hypotheses[i].score;
        kept->log_probability = hypotheses[i].log_probability;
    }
    translator->times.target_tokens += hypotheses[0].length;
    return CLF_OK;
}

/* --- Lines come in, all take a step, those that are done go. --- */

/* Reserves free slots for as many waiting lines as there is room for; returns how many. */
static int reserve_slots(struct work *work)
{
    const struct clf_translator *translator = work->translator;
    int64_t tokens = work->searched_tokens, budget = translator->options.batch_tokens;
    int fitting = 0, waiting = work->sorted - work->next;
    for (int slot = 0; slot < work->slot_count && fitting < waiting; slot++) {
        if (!clf__search_is_free(work->search, slot)) {
            continue;
        }
        int length = work->sources[work->order[work->next + fitting]].length;
        int is_alone = tokens == 0; /* such a line may be longer than the budget */
        if ((!is_alone && tokens + length > budget) ||
            !clf__session_reserve(translator->session, slot, length)) {
            break;
        }
        tokens += length;
        work->slots[fitting++] = slot;
    }
    return fitting;
}

/* Lines come in together, once they are a quarter of what is then under search: the encoder reads all of its
 * weights for one line as for many, and a step with three quarters of its rows loses little. The last lines
 * need not wait, as no others could join them. */
static int should_admit(const struct work *work, int fitting)
{
    return 3 * fitting >= work->searched || work->next + fitting == work->sorted;
}

/* The lines that were just encoded choose among their own words. */
static clf_status narrow(struct work *work, int count)
{
    struct clf_translator *translator = work->translator;
    if (translator->shortlist == NULL) {
        return CLF_OK;
    }
    int longest = work->sources[work->order[work->next]].length; /* they come so */
    int32_t *words;
    CLF__TRY(clf__allocate(
        &words, (size_t)translator->candidates_base + (size_t)translator->candidates_each * (size_t)longest,
        sizeof *words));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        const struct clf__ids *ids = &work->sources[work->order[work->next + i]].ids;
        int found = clf__shortlist_candidates(translator->shortlist, words, ids->data, ids->count);
        status = clf__session_narrow(translator->session, work->slots[i], words, found);
    }
    clf__free(words);
    return status;
}

static clf_status encode(struct work *work, int count)
{
    struct clf_translator *translator = work->translator;
    const struct clf_model *model = translator->model;
    struct clf__joined joined;
    double start = clf__seconds();
    CLF__TRY(
        clf__sources_join(&joined, work->sources, work->order + work->next, count, model->info.feature_size));
    clf_status status = clf__session_encode(translator->session, &joined.sequences);
    if (status == CLF_OK) {
        status = clf__session_remember(translator->session, work->slots);
    }
    if (status == CLF_OK) {
        status = narrow(work, count);
    }
    work->searched += count;
    work->searched_tokens += joined.first[count];
    translator->times.source_tokens += joined.first[count];
    translator->times.batches++;
    translator->times.encode += clf__seconds() - start;
    clf__joined_free(&joined);
    return status;
}

/* A hash of what was read. */
static uint64_t identity_of(const struct clf__source *source, const struct clf_model *model)
{
    size_t width = (size_t)model->info.feature_size, length = (size_t)source->length;
    return source->frames != NULL
               ? clf__fnv(CLF__FNV_BEGIN, source->frames, length * width * sizeof *source->frames)
               : clf__fnv(CLF__FNV_BEGIN, source->ids.data, length * sizeof *source->ids.data);
}

static clf_status admit(struct work *work)
{
    struct clf_translator *translator = work->translator;
    int fitting = reserve_slots(work);
    if (!should_admit(work, fitting)) {
        for (int i = 0; i < fitting; i++) {
            clf__session_release(translator->session, work->slots[i]);
        }
        fitting = 0;
    }
    if (fitting == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__translator_go_on(translator));
    CLF__TRY(encode(work, fitting));
    for (int i = 0; i < fitting; i++) {
        int line = work->order[work->next++], slot = work->slots[i];
        const struct clf__search_options *options =
            work->options != NULL ? &work->options[line] : &translator->search;
        CLF__TRY(clf__search_add(work->search, slot, options, line));
        clf__search_give_source(work->search, slot, work->sources[line].ids.data,
                                work->sources[line].ids.count);
        clf__search_give_identity(work->search, slot, identity_of(&work->sources[line], translator->model));
    }
    return CLF_OK;
}

static clf_status step(struct work *work)
{
    struct clf_translator *translator = work->translator;
    struct clf__step *step = clf__search_prepare(work->search);
    if (step->rows > 0) {
        CLF__TRY(clf__translator_go_on(translator));
        double start = clf__seconds();
        CLF__TRY(clf__session_step(translator->session, step));
        translator->times.decode += clf__seconds() - start;
        translator->times.steps++;
        translator->times.step_rows += step->rows;
    }
    clf__search_advance(work->search);
    return CLF_OK;
}

/* Keeps what is done; its slots are free. */
static clf_status finish(struct work *work)
{
    struct clf_translator *translator = work->translator;
    struct clf__search_result result;
    while (clf__search_take(work->search, &result)) {
        double start = clf__seconds();
        clf__session_release(translator->session, result.slot);
        work->searched--;
        work->searched_tokens -= work->sources[result.tag].length;
        translator->times.lines++;
        struct clf_translation *kept = &work->results[result.tag];
        CLF__TRY(keep_hypotheses(translator, kept, result.hypotheses, result.count));
        if (work->told != NULL && kept->count > 0) {
            CLF__TRY(clf__told_go_on(&work->told[result.tag], translator, result.tag,
                                     kept->hypotheses[0].text, 1));
        }
        translator->times.detokenize += clf__seconds() - start;
    }
    return CLF_OK;
}

/* Tells of every line that goes on. */
static clf_status tell(struct work *work)
{
    const struct clf_translator *translator = work->translator;
    double start = clf__seconds();
    for (int slot = 0; slot < work->slot_count; slot++) {
        int line, count;
        const int32_t *ids = clf__search_look(work->search, slot, &line, &count);
        char *text = NULL;
        if (ids == NULL) {
            continue;
        }
        CLF__TRY(clf__tokenizer_decode(translator->model->tokenizer, &text, ids, count,
                                       translator->options.pieces));
        clf_status status = clf__told_go_on(&work->told[line], translator, line, text, 0);
        clf__free(text);
        CLF__TRY(status);
    }
    work->translator->times.detokenize += clf__seconds() - start;
    return CLF_OK;
}

static clf_status run_steps(struct work *work)
{
    int searched = 1; /* before the last step; at first every slot is as good as just freed */
    while (work->next < work->sorted || work->searched > 0) {
        if (work->searched < searched) {
            CLF__TRY(admit(work));
        }
        searched = work->searched;
        assert(searched > 0);
        CLF__TRY(step(work));
        CLF__TRY(work->told != NULL ? tell(work) : CLF_OK);
        CLF__TRY(finish(work));
    }
    return CLF_OK;
}

static clf_status search(struct work *work)
{
    struct clf_translator *translator = work->translator;
    struct clf_stage_times *times = &translator->times, before = *times;
    CLF__TRY(make_session(translator));
    clf__session_release_all(translator->session); /* a call that failed leaves its lines there */
    double start = clf__seconds();
    work->slot_count = translator->max_lines < work->sorted ? translator->max_lines : work->sorted;
    struct clf__search_limits limits = clf__search_limits_for(&translator->search, work->slot_count);
    CLF__TRY(clf__search_create(&work->search, &limits));
    clf_status status = run_steps(work);
    clf__search_free(work->search);
    double others =
        times->encode - before.encode + times->decode - before.decode + times->detokenize - before.detokenize;
    times->search += clf__seconds() - start - others;
    return status;
}

/* Once: a model of sentences leaves out what it does not know how to say in one. */
static void warn_of_sentences(struct clf_translator *translator, const struct clf_line *line)
{
    if (translator->warns_of_sentences && clf__sentences_are_several(line->text, line->size)) {
        translator->warns_of_sentences = 0;
        clf__log(CLF_LOG_WARNING, "a line holds several sentences, of which a model of single ones may leave "
                                  "some out; split_sentences "
                                  "(--split-sentences) translates each by itself");
    }
}

/* The line's own search begins with its prefix. Where a few steps are all that is wanted, the forced first
 * token is given too, so that they come behind it. */
static clf_status read_prefix(struct work *work, int line, const struct clf__request *request)
{
    const struct clf_translator *translator = work->translator;
    struct clf__search_options *options = &work->options[line];
    const struct clf__ids *ids = request->begun != NULL ? &request->begun[line] : &work->prefixes[line];
    int starts = translator->takes_start;
    *options = translator->search;
    if (request->prefixes != NULL) {
        CLF__TRY(clf__prefix_read(&work->prefixes[line], translator, &request->prefixes[line]));
    }
    if (starts && ids->count == 0) {
        return clf__translator_check_start(translator);
    }
    if (options->steps > 0 && ids->count == 0 && translator->options.forced_first >= 0) {
        CLF__TRY(clf__ids_append(&work->prefixes[line], translator->options.forced_first));
    }
    if (ids->count > 0) {
        options->start_id = starts ? ids->data[0] : options->start_id;
        options->prefix = ids->data + starts;
        options->prefix_count = ids->count - starts;
        options->prefix_is_prompt = 1;
        if (request->begun != NULL) {
            options->counts_prompt = 0; /* of alternatives CTranslate2 does not count it either */
        }
    }
    return CLF_OK;
}

static clf_status read_line(struct work *work, int line, const struct clf__request *request)
{
    CLF__TRY(clf__source_read(&work->sources[line], work->translator, &request->lines[line]));
    clf_status status = work->options != NULL ? read_prefix(work, line, request) : CLF_OK;
    if (status != CLF_OK) {
        clf__source_free(&work->sources[line]);
    }
    return status;
}

static clf_status read_sources(struct work *work, const struct clf__request *request)
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
        work->translator->times.lines += source->length == 0; /* the others count when they are done */
    }
    work->translator->times.tokenize += clf__seconds() - start;
    return CLF_OK;
}

/* Longest first: a slot in the memory that becomes free is long enough for any line that still waits, and
 * the last steps are those of short lines. */
static clf_status sort(struct work *work)
{
    int *lengths;
    CLF__TRY(clf__allocate(&lengths, (size_t)work->count, sizeof *lengths));
    for (int i = 0; i < work->count; i++) {
        lengths[i] = work->sources[i].length;
    }
    clf_status status = clf__lines_sort(work->order, &work->sorted, lengths, work->count);
    clf__free(lengths);
    return status;
}

static int looks_back(const struct clf_translator *translator)
{
    return translator->options.alignment_layer > 0 || translator->options.replace_unknown;
}

/* What attention says of one translation of a line. */
static clf_status look_back(struct work *work, const struct clf_line *lines, int line,
                            struct clf_hypothesis *hypothesis)
{
    struct clf_translator *translator = work->translator;
    CLF__TRY(clf__translator_go_on(translator));
    if (translator->options.replace_unknown) {
        CLF__TRY(clf__unknown_replace(hypothesis, translator, &work->sources[line], &lines[line]));
    }
    return translator->options.alignment_layer > 0 ? clf__align(hypothesis, translator, &work->sources[line])
                                                   : CLF_OK;
}

static clf_status look_back_all(struct work *work, const struct clf_line *lines)
{
    double start = clf__seconds();
    if (!looks_back(work->translator)) {
        return CLF_OK;
    }
    for (int i = 0; i < work->count; i++) {
        for (int h = 0; h < work->results[i].count; h++) {
            CLF__TRY(look_back(work, lines, i, &work->results[i].hypotheses[h]));
        }
    }
    work->translator->times.decode += clf__seconds() - start;
    return CLF_OK;
}

static clf_status run(struct work *work, const struct clf__request *request)
{
    size_t count = (size_t)work->count;
    CLF__TRY(clf__allocate(&work->results, count, sizeof *work->results));
    CLF__TRY(clf__allocate(&work->sources, count, sizeof *work->sources));
    CLF__TRY(clf__allocate(&work->order, count, sizeof *work->order));
    CLF__TRY(clf__allocate(&work->slots, count, sizeof *work->slots));
    if (work->translator->options.streamed != NULL) {
        CLF__TRY(clf__allocate(&work->told, count, sizeof *work->told));
    }
    if (request->prefixes != NULL || request->begun != NULL || work->translator->search.steps > 0) {
        CLF__TRY(clf__allocate(&work->prefixes, count, sizeof *work->prefixes));
        CLF__TRY(clf__allocate(&work->options, count, sizeof *work->options));
    }
    CLF__TRY(request->prefixes == NULL || looks_back(work->translator)
                 ? clf__translator_check_start(work->translator)
                 : CLF_OK);
    CLF__TRY(read_sources(work, request));
    CLF__TRY(sort(work));
    CLF__TRY(work->sorted > 0 ? search(work) : CLF_OK);
    return look_back_all(work, request->lines);
}

clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          const struct clf__request *request)
{
    int count = request->count;
    CLF__TRY(clf__translator_check_lines(request->lines, count));
    struct work work = {.translator = translator, .count = count};
    clf_status status = run(&work, request);
    for (int i = 0; work.prefixes != NULL && i < count; i++) {
        clf__ids_free(&work.prefixes[i]);
    }
    for (int i = 0; work.sources != NULL && i < count; i++) {
        clf__source_free(&work.sources[i]);
    }
    clf__free(work.sources);
    clf__free(work.prefixes);
    clf__told_free(work.told, count);
    clf__free(work.options);
    clf__free(work.order);
    clf__free(work.slots);
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
