/* The search of one translator: admits lines, runs a step for all of them, and releases finished lines. */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "search/options.h"
#include "search/search.h"
#include "translate/work.h"

/* A worker of the search. */
struct search_state {
    struct clf__work *work;
    struct clf__worker *worker;
    struct clf_translator *translator;
    struct clf__search *search;
    int slot_count;          /* number of slots */
    int *slots, *lines;      /* (slot_count) slots and lines that are admitted */
    int searched;            /* lines under search */
    int64_t searched_tokens; /* source tokens of the lines under search */
};

clf_status clf__search_session(struct clf_translator *translator)
{
    if (translator->session != NULL) {
        return CLF_OK;
    }
    struct clf__session_limits limits = clf__translator_limits(translator, translator->max_lines);
    return clf__session_create(&translator->session, translator->model->transformer, &limits);
}

static clf_status keep_hypotheses(struct clf_translator *translator, struct clf_translation *result,
                                  const struct clf__search_result *found)
{
    const struct clf__hypothesis *hypotheses = found->hypotheses;
    int count = found->count;
    if (count == 0) {
        clf_status none =
            found->is_not_finite
                ? clf__model_fail_not_finite(translator->model)
                : clf__fail(CLF_TEXT, "the search found no translation: every token is suppressed");
        return clf__line_problem(none, &result->status, &result->problem);
    }
    CLF__TRY(clf__allocate(&result->hypotheses, (size_t)count, sizeof *result->hypotheses));
    result->count = count;
    for (int i = 0; i < count; i++) {
        struct clf_hypothesis *kept = &result->hypotheses[i];
        size_t length = (size_t)hypotheses[i].length;
        CLF__TRY(clf__tokenizer_decode(translator->model->tokenizer, &kept->text, hypotheses[i].ids,
                                       hypotheses[i].length, translator->settings->options.subwords));
        CLF__TRY(clf__allocate(&kept->ids, length, sizeof *kept->ids));
        memcpy(kept->ids, hypotheses[i].ids, length * sizeof *kept->ids);
        kept->count = hypotheses[i].length;
        kept->score = hypotheses[i].score;
        kept->log_probability = hypotheses[i].log_probability;
    }
    translator->times.target_tokens += hypotheses[0].length;
    return CLF_OK;
}

/* Reserves free slots for as many waiting lines as fit and as this worker may take; returns their number, and
 * the next waiting line. */
static int reserve_slots(struct search_state *state, int *next)
{
    const struct clf_translator *translator = state->translator;
    const struct clf__queue *queue = state->worker->pool->queue;
    int64_t tokens = state->searched_tokens, budget = translator->batch_tokens;
    int fitting = 0;
    *next = clf__queue_waiting(queue, 0);
    for (int slot = 0; slot < state->slot_count && *next < queue->count; slot++) {
        if (!clf__search_is_free(state->search, slot)) {
            continue;
        }
        int line = queue->order[*next], length = state->work->sources[line].length;
        int is_alone = tokens == 0; /* a single line may exceed the budget */
        if ((!is_alone && tokens + length > budget) ||
            !clf__worker_may_take(state->worker, tokens - state->searched_tokens, queue->costs[line]) ||
            !clf__session_reserve(translator->session, slot, length)) {
            break;
        }
        tokens += length;
        state->slots[fitting] = slot;
        state->lines[fitting++] = line;
        *next = clf__queue_waiting(queue, *next + 1);
    }
    return fitting;
}

/* Admits lines in groups, once they are a quarter of the lines under search: each call of the encoder
 * reads all of its weights, and a step with three quarters of its rows is hardly less efficient. The last
 * lines are admitted at once. */
static int should_admit(const struct search_state *state, int fitting, int next)
{
    return 3 * fitting >= state->searched || next == state->worker->pool->queue->count;
}

/* Takes waiting lines and their slots; returns their number. */
static int take_lines(struct search_state *state)
{
    int next, fitting = reserve_slots(state, &next);
    if (!should_admit(state, fitting, next)) {
        for (int i = 0; i < fitting; i++) {
            clf__session_release(state->translator->session, state->slots[i]);
        }
        return 0;
    }
    for (int i = 0; i < fitting; i++) {
        clf__worker_take(state->worker, state->lines[i]);
    }
    return fitting;
}

/* Restricts each newly encoded line to the shortlist of its words. */
static clf_status set_shortlists(struct search_state *state, int count)
{
    struct clf_translator *translator = state->translator;
    if (translator->settings->shortlist == NULL) {
        return CLF_OK;
    }
    int longest = state->work->sources[state->lines[0]].length; /* lines are sorted, longest first */
    int32_t *words;
    CLF__TRY(clf__allocate(&words,
                           (size_t)translator->settings->candidates_base +
                               (size_t)translator->settings->candidates_each * (size_t)longest,
                           sizeof *words));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        const struct clf__ids *ids = &state->work->sources[state->lines[i]].ids;
        int found = clf__shortlist_candidates(translator->settings->shortlist, words, ids->data, ids->count);
        status = clf__session_set_shortlist(translator->session, state->slots[i], words, found);
    }
    clf__free(words);
    return status;
}

static clf_status encode(struct search_state *state, int count)
{
    struct clf_translator *translator = state->translator;
    const struct clf_model *model = translator->model;
    struct clf__joined joined;
    double start = clf__seconds();
    CLF__TRY(clf__sources_join(&joined, state->work->sources, state->lines, count, model->info.feature_size));
    clf_status status = clf__session_encode(translator->session, &joined.sequences);
    if (status == CLF_OK) {
        status = clf__session_cache(translator->session, state->slots);
    }
    if (status == CLF_OK) {
        status = set_shortlists(state, count);
    }
    state->searched += count;
    state->searched_tokens += joined.first[count];
    translator->times.source_tokens += joined.first[count];
    translator->times.batches++;
    translator->times.encode += clf__seconds() - start;
    clf__joined_free(&joined);
    return status;
}

/* Returns a hash of a source. */
static uint64_t identity_of(const struct clf__source *source, const struct clf_model *model)
{
    size_t width = (size_t)model->info.feature_size, length = (size_t)source->length;
    return source->frames != NULL
               ? clf__fnv(CLF__FNV_BEGIN, source->frames, length * width * sizeof *source->frames)
               : clf__fnv(CLF__FNV_BEGIN, source->ids.data, length * sizeof *source->ids.data);
}

static clf_status admit(struct search_state *state)
{
    struct clf_translator *translator = state->translator;
    const struct clf__work *work = state->work;
    clf__worker_lock(state->worker);
    int fitting = take_lines(state);
    clf__worker_unlock(state->worker);
    if (fitting == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__translator_go_on(translator));
    CLF__TRY(encode(state, fitting));
    for (int i = 0; i < fitting; i++) {
        int line = state->lines[i], slot = state->slots[i];
        const struct clf__search_options *options =
            work->options != NULL ? &work->options[line] : &translator->settings->search;
        CLF__TRY(clf__search_add(state->search, slot, options, line));
        clf__search_set_source(state->search, slot, work->sources[line].ids.data,
                               work->sources[line].ids.count);
        clf__search_set_identity(state->search, slot, identity_of(&work->sources[line], translator->model));
    }
    return CLF_OK;
}

static clf_status step(struct search_state *state)
{
    struct clf_translator *translator = state->translator;
    struct clf__step *step = clf__search_prepare(state->search);
    if (step->rows > 0) {
        CLF__TRY(clf__translator_go_on(translator));
        double start = clf__seconds();
        CLF__TRY(clf__session_step(translator->session, step));
        translator->times.decode += clf__seconds() - start;
        translator->times.steps++;
        translator->times.step_rows += step->rows;
    }
    clf__search_advance(state->search);
    return CLF_OK;
}

/* Stores finished translations and releases their slots. */
static clf_status finish(struct search_state *state)
{
    struct clf_translator *translator = state->translator;
    struct clf__work *work = state->work;
    struct clf__search_result result;
    while (clf__search_take(state->search, &result)) {
        double start = clf__seconds();
        clf__session_release(translator->session, result.slot);
        state->searched--;
        state->searched_tokens -= work->sources[result.tag].length;
        translator->times.lines++;
        struct clf_translation *kept = &work->results[result.tag];
        CLF__TRY(keep_hypotheses(translator, kept, &result));
        if (work->streamed != NULL && kept->count > 0) {
            CLF__TRY(clf__streamed_continue(&work->streamed[result.tag], translator, result.tag,
                                            kept->hypotheses[0].text, 1));
        }
        clf__worker_finish(state->worker, result.tag);
        translator->times.detokenize += clf__seconds() - start;
    }
    return CLF_OK;
}

/* Streams every unfinished line. */
static clf_status stream_lines(struct search_state *state)
{
    const struct clf_translator *translator = state->translator;
    double start = clf__seconds();
    for (int slot = 0; slot < state->slot_count; slot++) {
        int line, count;
        const int32_t *ids = clf__search_look(state->search, slot, &line, &count);
        char *text = NULL;
        if (ids == NULL) {
            continue;
        }
        CLF__TRY(clf__tokenizer_decode(translator->model->tokenizer, &text, ids, count,
                                       translator->settings->options.subwords));
        clf_status status = clf__streamed_continue(&state->work->streamed[line], translator, line, text, 0);
        clf__free(text);
        CLF__TRY(status);
    }
    state->translator->times.detokenize += clf__seconds() - start;
    return CLF_OK;
}

static clf_status run_steps(struct search_state *state)
{
    int searched = 1; /* any value but 0: every slot is free before the first step */
    for (;;) {
        if (state->searched < searched) {
            CLF__TRY(admit(state));
        }
        searched = state->searched;
        if (searched == 0) { /* other workers may fail and return their lines */
            if (!clf__worker_wait(state->worker)) {
                return CLF_OK;
            }
            assert(!state->worker->pool->is_alone);
            searched = 1;
            continue;
        }
        CLF__TRY(step(state));
        CLF__TRY(state->work->streamed != NULL ? stream_lines(state) : CLF_OK);
        CLF__TRY(finish(state));
    }
}

static clf_status make_slots(struct search_state *state)
{
    size_t slots = (size_t)state->slot_count;
    struct clf__search_limits limits =
        clf__search_limits_for(&state->translator->settings->search, state->slot_count);
    CLF__TRY(clf__allocate(&state->slots, slots, sizeof *state->slots));
    CLF__TRY(clf__allocate(&state->lines, slots, sizeof *state->lines));
    return clf__search_create(&state->search, &limits);
}

static clf_status search(struct search_state *state)
{
    struct clf_translator *translator = state->translator;
    struct clf_stage_times *times = &translator->times, before = *times;
    CLF__TRY(clf__search_session(translator));
    clf__session_release_all(translator->session); /* a failed call leaves its lines in the session */
    double start = clf__seconds(), waited = state->worker->waits;
    int most = state->worker->pool->queue->count;
    state->slot_count = translator->max_lines < most ? translator->max_lines : most;
    CLF__TRY(make_slots(state));
    CLF__TRY(run_steps(state));
    double others = times->encode - before.encode + times->decode - before.decode + times->detokenize -
                    before.detokenize + state->worker->waits - waited;
    times->search += clf__seconds() - start - others;
    return CLF_OK;
}

clf_status clf__search_lines(struct clf__worker *worker, void *context)
{
    struct search_state state = {.work = context, .worker = worker, .translator = worker->translator};
    clf_status status = search(&state);
    clf__search_free(state.search);
    clf__free(state.slots);
    clf__free(state.lines);
    return status;
}
