/* The search of one translator: lines come in, all take a step, those that are done go. */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "translate/work.h"

/* A translator's part in the work. */
struct seat {
    struct clf__work *work;
    struct clf__member *member;
    struct clf_translator *translator;
    struct clf__search *search;
    int slot_count;          /* of the search */
    int *slots, *lines;      /* (slot_count) where lines come in, and which */
    int searched;            /* lines under search */
    int64_t searched_tokens; /* of them */
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

/* Reserves free slots for as many waiting lines as there is room for, and as this translator may take;
 * returns how many, and the next one to wait. */
static int reserve_slots(struct seat *seat, int *next)
{
    const struct clf_translator *translator = seat->translator;
    const struct clf__queue *queue = seat->member->team->queue;
    int64_t tokens = seat->searched_tokens, budget = translator->options.batch_tokens;
    int fitting = 0;
    *next = clf__queue_waiting(queue, 0);
    for (int slot = 0; slot < seat->slot_count && *next < queue->count; slot++) {
        if (!clf__search_is_free(seat->search, slot)) {
            continue;
        }
        int line = queue->order[*next], length = seat->work->sources[line].length;
        int is_alone = tokens == 0; /* such a line may be longer than the budget */
        if ((!is_alone && tokens + length > budget) ||
            !clf__member_may_take(seat->member, tokens - seat->searched_tokens, queue->costs[line]) ||
            !clf__session_reserve(translator->session, slot, length)) {
            break;
        }
        tokens += length;
        seat->slots[fitting] = slot;
        seat->lines[fitting++] = line;
        *next = clf__queue_waiting(queue, *next + 1);
    }
    return fitting;
}

/* Lines come in together, once they are a quarter of what is then under search: the encoder reads all of its
 * weights for one line as for many, and a step with three quarters of its rows loses little. The last lines
 * need not wait, as no others could join them. */
static int should_admit(const struct seat *seat, int fitting, int next)
{
    return 3 * fitting >= seat->searched || next == seat->member->team->queue->count;
}

/* Takes lines that wait, and slots for them; returns how many. */
static int take_lines(struct seat *seat)
{
    int next, fitting = reserve_slots(seat, &next);
    if (!should_admit(seat, fitting, next)) {
        for (int i = 0; i < fitting; i++) {
            clf__session_release(seat->translator->session, seat->slots[i]);
        }
        return 0;
    }
    for (int i = 0; i < fitting; i++) {
        clf__member_take(seat->member, seat->lines[i]);
    }
    return fitting;
}

/* The lines that were just encoded choose among their own words. */
static clf_status set_shortlists(struct seat *seat, int count)
{
    struct clf_translator *translator = seat->translator;
    if (translator->shortlist == NULL) {
        return CLF_OK;
    }
    int longest = seat->work->sources[seat->lines[0]].length; /* they come so */
    int32_t *words;
    CLF__TRY(clf__allocate(
        &words, (size_t)translator->candidates_base + (size_t)translator->candidates_each * (size_t)longest,
        sizeof *words));
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        const struct clf__ids *ids = &seat->work->sources[seat->lines[i]].ids;
        int found = clf__shortlist_candidates(translator->shortlist, words, ids->data, ids->count);
        status = clf__session_set_shortlist(translator->session, seat->slots[i], words, found);
    }
    clf__free(words);
    return status;
}

static clf_status encode(struct seat *seat, int count)
{
    struct clf_translator *translator = seat->translator;
    const struct clf_model *model = translator->model;
    struct clf__joined joined;
    double start = clf__seconds();
    CLF__TRY(clf__sources_join(&joined, seat->work->sources, seat->lines, count, model->info.feature_size));
    clf_status status = clf__session_encode(translator->session, &joined.sequences);
    if (status == CLF_OK) {
        status = clf__session_cache(translator->session, seat->slots);
    }
    if (status == CLF_OK) {
        status = set_shortlists(seat, count);
    }
    seat->searched += count;
    seat->searched_tokens += joined.first[count];
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

static clf_status admit(struct seat *seat)
{
    struct clf_translator *translator = seat->translator;
    const struct clf__work *work = seat->work;
    clf__member_lock(seat->member);
    int fitting = take_lines(seat);
    clf__member_unlock(seat->member);
    if (fitting == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__translator_go_on(translator));
    CLF__TRY(encode(seat, fitting));
    for (int i = 0; i < fitting; i++) {
        int line = seat->lines[i], slot = seat->slots[i];
        const struct clf__search_options *options =
            work->options != NULL ? &work->options[line] : &translator->search;
        CLF__TRY(clf__search_add(seat->search, slot, options, line));
        clf__search_set_source(seat->search, slot, work->sources[line].ids.data,
                               work->sources[line].ids.count);
        clf__search_set_identity(seat->search, slot, identity_of(&work->sources[line], translator->model));
    }
    return CLF_OK;
}

static clf_status step(struct seat *seat)
{
    struct clf_translator *translator = seat->translator;
    struct clf__step *step = clf__search_prepare(seat->search);
    if (step->rows > 0) {
        CLF__TRY(clf__translator_go_on(translator));
        double start = clf__seconds();
        CLF__TRY(clf__session_step(translator->session, step));
        translator->times.decode += clf__seconds() - start;
        translator->times.steps++;
        translator->times.step_rows += step->rows;
    }
    clf__search_advance(seat->search);
    return CLF_OK;
}

/* Keeps what is done; its slots are free. */
static clf_status finish(struct seat *seat)
{
    struct clf_translator *translator = seat->translator;
    struct clf__work *work = seat->work;
    struct clf__search_result result;
    while (clf__search_take(seat->search, &result)) {
        double start = clf__seconds();
        clf__session_release(translator->session, result.slot);
        seat->searched--;
        seat->searched_tokens -= work->sources[result.tag].length;
        translator->times.lines++;
        struct clf_translation *kept = &work->results[result.tag];
        CLF__TRY(keep_hypotheses(translator, kept, &result));
        if (work->told != NULL && kept->count > 0) {
            CLF__TRY(clf__told_go_on(&work->told[result.tag], translator, result.tag,
                                     kept->hypotheses[0].text, 1));
        }
        clf__member_finish(seat->member, result.tag);
        translator->times.detokenize += clf__seconds() - start;
    }
    return CLF_OK;
}

/* Tells of every line that goes on. */
static clf_status tell(struct seat *seat)
{
    const struct clf_translator *translator = seat->translator;
    double start = clf__seconds();
    for (int slot = 0; slot < seat->slot_count; slot++) {
        int line, count;
        const int32_t *ids = clf__search_look(seat->search, slot, &line, &count);
        char *text = NULL;
        if (ids == NULL) {
            continue;
        }
        CLF__TRY(clf__tokenizer_decode(translator->model->tokenizer, &text, ids, count,
                                       translator->options.pieces));
        clf_status status = clf__told_go_on(&seat->work->told[line], translator, line, text, 0);
        clf__free(text);
        CLF__TRY(status);
    }
    seat->translator->times.detokenize += clf__seconds() - start;
    return CLF_OK;
}

static clf_status run_steps(struct seat *seat)
{
    int searched = 1; /* before the last step; at first every slot is as good as just freed */
    for (;;) {
        if (seat->searched < searched) {
            CLF__TRY(admit(seat));
        }
        searched = seat->searched;
        if (searched == 0) { /* others may have to give back what they have */
            if (!clf__member_wait(seat->member)) {
                return CLF_OK;
            }
            assert(!seat->member->team->is_alone);
            searched = 1;
            continue;
        }
        CLF__TRY(step(seat));
        CLF__TRY(seat->work->told != NULL ? tell(seat) : CLF_OK);
        CLF__TRY(finish(seat));
    }
}

static clf_status make_slots(struct seat *seat)
{
    size_t slots = (size_t)seat->slot_count;
    struct clf__search_limits limits = clf__search_limits_for(&seat->translator->search, seat->slot_count);
    CLF__TRY(clf__allocate(&seat->slots, slots, sizeof *seat->slots));
    CLF__TRY(clf__allocate(&seat->lines, slots, sizeof *seat->lines));
    return clf__search_create(&seat->search, &limits);
}

static clf_status search(struct seat *seat)
{
    struct clf_translator *translator = seat->translator;
    struct clf_stage_times *times = &translator->times, before = *times;
    CLF__TRY(clf__search_session(translator));
    clf__session_release_all(translator->session); /* a call that failed leaves its lines there */
    double start = clf__seconds(), waited = seat->member->waits;
    int most = seat->member->team->queue->count;
    seat->slot_count = translator->max_lines < most ? translator->max_lines : most;
    CLF__TRY(make_slots(seat));
    CLF__TRY(run_steps(seat));
    double others = times->encode - before.encode + times->decode - before.decode + times->detokenize -
                    before.detokenize + seat->member->waits - waited;
    times->search += clf__seconds() - start - others;
    return CLF_OK;
}

clf_status clf__search_lines(struct clf__member *member, void *context)
{
    struct seat seat = {.work = context, .member = member, .translator = member->translator};
    clf_status status = search(&seat);
    clf__search_free(seat.search);
    clf__free(seat.slots);
    clf__free(seat.lines);
    return status;
}
