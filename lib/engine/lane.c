#include "engine/lane.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "engine/draft.h"
#include "engine/engine.h"
#include "engine/results.h"
#include "engine/terms.h"
#include "search/search.h"

void clf__lane_show(struct clf__lane *lane)
{
    lane->view = (struct clf__lane_view){
        .times = lane->times,
        .batch_tokens = lane->batch_tokens,
        .max_lines = lane->max_lines,
        .windows = lane->windows.slots,
    };
}

static int is_pipelined(const struct clf__lane *lane)
{
    return lane->engine->draft == NULL &&
           clf__caps_pipelined_steps(clf__device_caps(lane->model->transformer->device)) > 1;
}

static clf_status make_search(struct clf__lane *lane)
{
    size_t lines = (size_t)lane->max_lines;
    struct clf__search_limits limits = lane->capacity.search;
    limits.slots = lane->max_lines;
    limits.ahead = is_pipelined(lane);
    CLF__TRY(clf__allocate(&lane->units, lines, sizeof *lane->units));
    CLF__TRY(clf__allocate(&lane->chosen, lines, sizeof *lane->chosen));
    CLF__TRY(clf__allocate(&lane->slots, lines, sizeof *lane->slots));
    return clf__search_create(&lane->search, &limits);
}

int clf__lane_serves(const struct clf__lane *lane, const struct clf__capacity *needed, int longest_source)
{
    return lane->session != NULL && longest_source <= lane->source_length &&
           clf__capacity_covers(&lane->capacity, needed);
}

static clf_status make_session(struct clf__lane *lane)
{
    struct clf__session_limits limits =
        clf__capacity_limits(&lane->capacity, lane->max_lines, lane->batch_tokens, lane->source_length);
    limits.pipelined = is_pipelined(lane);
    clf_status status = make_search(lane);
    if (status == CLF_OK) {
        status = clf__session_create(&lane->session, lane->model->transformer, &limits);
    }
    if (status == CLF_OK && lane->engine->draft != NULL) {
        status = clf__draft_create(&lane->draft, lane->engine->draft, &limits);
    }
    if (status != CLF_OK) {
        clf__lane_release(lane);
    }
    return status;
}

clf_status clf__lane_prepare(struct clf__lane *lane)
{
    if (lane->session != NULL) {
        return CLF_OK;
    }
    clf_status status = make_session(lane);
    if (status == CLF_DEVICE_MEMORY && lane->cache.store != NULL) {
        clf__cache_clear(&lane->cache);
        status = make_session(lane);
    }
    return status;
}

void clf__lane_release(struct clf__lane *lane)
{
    clf__session_free(lane->session);
    clf__draft_free(lane->draft);
    clf__search_free(lane->search);
    clf__free(lane->units);
    clf__free(lane->chosen);
    clf__free(lane->slots);
    lane->session = NULL;
    lane->draft = NULL;
    lane->search = NULL;
    lane->units = lane->chosen = NULL;
    lane->slots = NULL;
}

void clf__lane_free(struct clf__lane *lane)
{
    clf__lane_release(lane);
    clf__windows_free(&lane->windows);
    clf__cache_clear(&lane->cache);
    clf__session_free(lane->force_session);
    clf__session_free(lane->align_session);
}

int clf__lane_reserve(struct clf__lane *lane, int slot, int length)
{
    return clf__session_reserve(lane->session, slot, length);
}

void clf__lane_unreserve(struct clf__lane *lane, int slot)
{
    clf__session_release(lane->session, slot);
}

static clf_status keep_hypotheses(struct clf__lane *lane, const struct clf__unit *unit,
                                  const struct clf__search_result *found)
{
    struct clf_translation *result = unit->result;
    const struct clf__settings *settings = unit->settings;
    const struct clf__hypothesis *hypotheses = found->hypotheses;
    int count = found->count;
    clf__hypotheses_clear(result); /* left by a device that failed after the search */
    if (count == 0) {
        clf_status none =
            found->is_not_finite
                ? clf__model_fail_not_finite(lane->model)
                : clf__fail(CLF_TEXT, "the search found no translation: every token is suppressed");
        return clf__line_problem(none, &result->status, &result->problem);
    }
    CLF__TRY(clf__allocate(&result->hypotheses, (size_t)count, sizeof *result->hypotheses));
    result->count = count;
    for (int i = 0; i < count; i++) {
        struct clf_hypothesis *kept = &result->hypotheses[i];
        size_t length = (size_t)hypotheses[i].length;
        CLF__TRY(clf__tokenizer_decode(lane->model->tokenizer, &kept->text, hypotheses[i].ids,
                                       hypotheses[i].length, settings->options.subwords));
        CLF__TRY(clf__allocate(&kept->ids, length, sizeof *kept->ids));
        memcpy(kept->ids, hypotheses[i].ids, length * sizeof *kept->ids);
        kept->count = hypotheses[i].length;
        kept->score = hypotheses[i].score;
        kept->log_probability = hypotheses[i].log_probability;
    }
    return unit->terms != NULL ? clf__terms_report(result, unit) : CLF_OK;
}

/* Restricts each newly encoded line to the shortlist of its words. */
static clf_status set_shortlist(struct clf__lane *lane, int slot, const struct clf__unit *unit)
{
    const struct clf__settings *settings = unit->settings;
    const struct clf__capacity *capacity = clf__unit_capacity(unit);
    const struct clf__ids *ids = &unit->source.ids;
    int32_t *words;
    if (settings->shortlist == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(
        &words, (size_t)capacity->shortlist_base + (size_t)capacity->shortlist_each * (size_t)ids->count,
        sizeof *words));
    int found = clf__shortlist_candidates(settings->shortlist, words, ids->data, ids->count);
    found = unit->terms != NULL ? clf__terms_add_ids(words, found, unit->terms) : found;
    clf_status status = clf__session_set_shortlist(lane->session, slot, words, found);
    clf__free(words);
    return status;
}

static clf_status encode(struct clf__lane *lane, int count)
{
    const struct clf__source **sources;
    struct clf__joined joined;
    CLF__TRY(clf__allocate(&sources, (size_t)count, sizeof *sources));
    for (int i = 0; i < count; i++) {
        sources[i] = &lane->chosen[i]->source;
    }
    clf_status status = clf__sources_join(&joined, sources, count, lane->model->info.feature_size);
    clf__free(sources);
    CLF__TRY(status);
    status = clf__session_encode(lane->session, &joined.sequences);
    if (status == CLF_OK) {
        status = clf__session_cache(lane->session, lane->slots);
    }
    lane->times.batches++;
    clf__joined_free(&joined);
    return status;
}

/* Copies the lines that are in the cache, and encodes and caches the others. */
static clf_status fill_slots(struct clf__lane *lane, int count)
{
    enum { FEW_LINES = 8 };
    int missing = clf__cache_part(&lane->cache, lane->chosen, lane->slots, count);
    for (int i = missing; i < count; i++) { /* before an entry may be replaced */
        CLF__TRY(clf__cache_load(&lane->cache, lane->session, lane->slots[i], &lane->chosen[i]->source));
    }
    CLF__TRY(missing > 0 ? encode(lane, missing) : CLF_OK);
    for (int i = 0; i < missing; i++) {
        CLF__TRY(clf__cache_save(&lane->cache, lane->session, lane->slots[i], &lane->chosen[i]->source,
                                 missing > FEW_LINES));
    }
    return CLF_OK;
}

/* Returns a hash of a source. */
static uint64_t identity_of(const struct clf__source *source, const struct clf_model *model)
{
    size_t width = (size_t)model->info.feature_size, length = (size_t)source->length;
    return source->frames != NULL
               ? clf__fnv(CLF__FNV_BEGIN, source->frames, length * width * sizeof *source->frames)
               : clf__fnv(CLF__FNV_BEGIN, source->ids.data, length * sizeof *source->ids.data);
}

clf_status clf__lane_add(struct clf__lane *lane, int count)
{
    double start = clf__seconds();
    for (int i = 0; i < count; i++) {
        lane->units[lane->slots[i]] = lane->chosen[i];
        lane->searched_tokens += lane->chosen[i]->source.length;
        lane->times.source_tokens += lane->chosen[i]->source.length;
    }
    lane->searched += count;
    CLF__TRY(fill_slots(lane, count));
    CLF__TRY(lane->draft != NULL ? clf__draft_begin(lane->draft, &lane->chosen[0]->source) : CLF_OK);
    for (int i = 0; i < count; i++) {
        const struct clf__unit *unit = lane->chosen[i];
        const struct clf__ids *ids = &unit->source.ids;
        int slot = lane->slots[i];
        CLF__TRY(set_shortlist(lane, slot, unit));
        CLF__TRY(clf__search_add(lane->search, slot, &unit->search, slot));
        clf__search_set_source(lane->search, slot, ids->data, ids->count);
        clf__search_set_identity(lane->search, slot, identity_of(&unit->source, lane->model));
    }
    lane->times.encode += clf__seconds() - start;
    return CLF_OK;
}

/* Enqueues a step unless it was enqueued ahead, then the step after it if possible, and waits for the results
 * of the first one. Sets *is_void as clf__session_finish() does. */
static clf_status run_step(struct clf__lane *lane, struct clf__step *step, int *is_void)
{
    if (!step->is_ahead) {
        clf__session_drop(lane->session); /* a step ahead whose lines have all left */
        CLF__TRY(clf__session_enqueue(lane->session, step));
    }
    if (clf__session_can_enqueue(lane->session)) {
        struct clf__step *ahead = clf__search_prepare_ahead(lane->search);
        CLF__TRY(ahead != NULL ? clf__session_enqueue(lane->session, ahead) : CLF_OK);
    }
    return clf__session_finish(lane->session, step, is_void);
}

/* Returns the number of tokens of the only line that is decoded with a draft model. */
static int count_tokens(const struct clf__lane *lane)
{
    struct clf__hypothesis found;
    int is_done;
    return lane->draft != NULL && clf__search_see(&found, &is_done, lane->search, 0) ? found.length : 0;
}

clf_status clf__lane_step(struct clf__lane *lane)
{
    double start = clf__seconds();
    if (lane->draft != NULL) {
        CLF__TRY(clf__draft_propose(lane->draft, lane->search, lane->units[0]->search.start_id));
        lane->times.decode += clf__seconds() - start;
        start = clf__seconds();
    }
    struct clf__step *step = clf__search_prepare(lane->search);
    double prepared = clf__seconds(), decoded = prepared;
    if (step->rows > 0) {
        int is_void;
        CLF__TRY(run_step(lane, step, &is_void));
        decoded = clf__seconds();
        lane->times.decode += decoded - prepared;
        if (is_void) {
            clf__search_withdraw(lane->search);
            return CLF_OK;
        }
        lane->times.steps++;
        lane->times.step_rows += step->rows;
    }
    int before = count_tokens(lane);
    clf__search_advance(lane->search);
    if (step->is_chain) {
        lane->times.proposed += step->rows - 1;
        lane->times.accepted += clf__max_int(count_tokens(lane) - before - 1, 0);
    }
    lane->times.search += prepared - start + clf__seconds() - decoded;
    return CLF_OK;
}

void clf__lane_rest(struct clf__lane *lane)
{
    if (lane->searched == 0 && lane->session != NULL) {
        clf__session_drop(lane->session);
    }
}

/* Returns whether a hypothesis is final: first tokens of alternatives are not, because their search
 * continues. */
static int is_whole(const struct clf__settings *settings, const struct clf_hypothesis *hypothesis)
{
    return settings->search.steps == 0 || hypothesis->count == settings->search.max_length;
}

/* Replaces unknown tokens and adds the alignment. */
static clf_status look_back(struct clf__lane *lane, const struct clf__unit *unit)
{
    const struct clf__settings *settings = unit->settings;
    int replaces = settings->options.replace_unknown, aligns = settings->options.alignment_layer > 0;
    double start = clf__seconds();
    for (int i = 0; (replaces || aligns) && i < unit->result->count; i++) {
        struct clf_hypothesis *hypothesis = &unit->result->hypotheses[i];
        if (!is_whole(settings, hypothesis)) {
            continue;
        }
        CLF__TRY(replaces ? clf__unknown_replace(hypothesis, lane, settings, &unit->source, unit->line)
                          : CLF_OK);
        CLF__TRY(aligns ? clf__align(hypothesis, lane, settings, &unit->source) : CLF_OK);
    }
    lane->times.decode += clf__seconds() - start;
    return CLF_OK;
}

static void free_slot(struct clf__lane *lane, int slot)
{
    lane->searched--;
    lane->searched_tokens -= lane->units[slot]->source.length;
    lane->units[slot] = NULL;
    clf__session_release(lane->session, slot);
}

clf_status clf__lane_take(struct clf__lane *lane, struct clf__unit **out)
{
    struct clf__search_result found;
    *out = NULL;
    if (!clf__search_take(lane->search, &found)) {
        return CLF_OK;
    }
    double start = clf__seconds();
    *out = lane->units[found.slot];
    free_slot(lane, found.slot);
    CLF__TRY(keep_hypotheses(lane, *out, &found));
    lane->times.detokenize += clf__seconds() - start;
    CLF__TRY(look_back(lane, *out));
    lane->times.lines++;
    lane->times.target_tokens += (*out)->result->count > 0 ? (*out)->result->hypotheses[0].count : 0;
    return CLF_OK;
}

void clf__lane_remove(struct clf__lane *lane, int slot)
{
    clf__search_remove(lane->search, slot);
    free_slot(lane, slot);
}

void clf__lane_clear(struct clf__lane *lane)
{
    for (int slot = 0; lane->units != NULL && slot < lane->max_lines; slot++) {
        clf__search_remove(lane->search, slot);
        lane->units[slot] = NULL;
    }
    if (lane->session != NULL) {
        clf__session_drop(lane->session);
        clf__session_release_all(lane->session);
    }
    clf__windows_clear(&lane->windows);
    clf__cache_forget(&lane->cache);
    lane->searched = 0;
    lane->searched_tokens = 0;
}

clf_status clf__lane_text(char **out, const struct clf__lane *lane, int slot)
{
    int tag, count;
    const int32_t *ids = clf__search_look(lane->search, slot, &tag, &count);
    *out = NULL;
    return ids == NULL ? CLF_OK
                       : clf__tokenizer_decode(lane->model->tokenizer, out, ids, count,
                                               lane->units[slot]->settings->options.subwords);
}
