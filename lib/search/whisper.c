#include "search/whisper.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "search/internal.h"
#include "search/whisper_internal.h"

int clf__whisper_rows(const struct clf__whisper_limits *limits)
{
    return clf__max_int(limits->beams, limits->samples);
}

int clf__whisper_wanted(int beams, double patience)
{
    return (int)lrint(beams * patience); /* half to even, as in Python */
}

int clf__whisper_candidates(const struct clf__whisper_limits *limits)
{
    return limits->beams > 1 || limits->wanted > 1 ? limits->beams + 1 : 1;
}

static size_t all_rows(const struct clf__whisper *whisper)
{
    return (size_t)whisper->limits.slots * (size_t)whisper->rows;
}

static clf_status allocate_asked(struct clf__whisper *whisper)
{
    size_t rows = all_rows(whisper), banned = (size_t)whisper->limits.banned;
    size_t prefill = (size_t)whisper->limits.slots * (size_t)whisper->limits.positions;
    CLF__TRY(clf__allocate(&whisper->tokens, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->positions, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->cache_rows, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->parents, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->slots, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->banned, rows * banned, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->banned_offsets, rows + 1, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->ranges, rows * CLF__WHISPER_RANGES * 2, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->prefill, prefill, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&whisper->prefill_offsets, rows + 1, sizeof(int32_t)));
    struct clf__step *step = &whisper->step;
    step->tokens = whisper->tokens;
    step->positions = whisper->positions;
    step->cache_rows = whisper->cache_rows;
    step->parents = whisper->parents;
    step->slots = whisper->slots;
    step->banned = whisper->banned;
    step->banned_offsets = whisper->banned_offsets;
    step->ranges = whisper->ranges;
    step->prefill = whisper->prefill;
    step->ranges_each = CLF__WHISPER_RANGES;
    return CLF_OK;
}

static clf_status allocate_given(struct clf__whisper *whisper)
{
    struct clf__step *step = &whisper->step;
    step->candidates = clf__whisper_candidates(&whisper->limits);
    size_t rows = all_rows(whisper), k = (size_t)step->candidates;
    size_t in_ranges = rows * CLF__WHISPER_RANGES;
    size_t draws = (size_t)whisper->limits.slots * (size_t)whisper->limits.samples;
    size_t drawn = draws * CLF__WHISPER_RANGES;
    if (draws > 0) {
        CLF__TRY(clf__allocate(&whisper->draws, draws, sizeof *whisper->draws));
        CLF__TRY(clf__allocate(&step->draw_values, drawn, sizeof(float)));
        CLF__TRY(clf__allocate(&step->draw_ids, drawn, sizeof(int32_t)));
        CLF__TRY(clf__allocate(&step->draw_logits, drawn, sizeof(float)));
        step->draws = whisper->draws;
    }
    CLF__TRY(clf__allocate(&step->values, rows * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->ids, rows * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->statistics, rows * 4, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_values, in_ranges * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_ids, in_ranges * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->range_statistics, in_ranges * 2, sizeof(float)));
    if (whisper->limits.logits > 0) {
        size_t vocabulary = (size_t)whisper->limits.logits;
        CLF__TRY(clf__allocate(&step->logits, rows * vocabulary, sizeof(float)));
        CLF__TRY(clf__allocate(&whisper->sorted, vocabulary, sizeof(float)));
        CLF__TRY(clf__allocate(&whisper->keeps_logits, rows, sizeof(uint8_t)));
        step->keeps_logits = whisper->keeps_logits;
    }
    CLF__TRY(clf__allocate(&whisper->candidates, (size_t)whisper->rows * k, sizeof *whisper->candidates));
    CLF__TRY(clf__allocate(&whisper->best, k, sizeof *whisper->best));
    return clf__allocate(&whisper->best_sums, k, sizeof *whisper->best_sums);
}

static clf_status allocate_paths(struct clf__whisper *whisper)
{
    size_t slots = (size_t)whisper->limits.slots, rows = (size_t)whisper->rows;
    size_t each = 2 * rows + (size_t)whisper->limits.finished, length = (size_t)whisper->limits.positions + 1;
    CLF__TRY(clf__allocate(&whisper->texts, each - rows, sizeof *whisper->texts));
    CLF__TRY(clf__allocate(&whisper->listed, length, sizeof *whisper->listed));
    CLF__TRY(clf__allocate(&whisper->searches, slots, sizeof *whisper->searches));
    CLF__TRY(clf__allocate(&whisper->hypotheses, slots * each, sizeof *whisper->hypotheses));
    CLF__TRY(clf__allocate(&whisper->hypothesis_ids, slots * each * length, sizeof *whisper->hypothesis_ids));
    for (size_t i = 0; i < slots; i++) {
        struct clf__whisper_window *search = &whisper->searches[i];
        search->running = whisper->hypotheses + i * each;
        search->next = search->running + rows;
        search->finished = search->next + rows;
    }
    for (size_t i = 0; i < slots * each; i++) {
        whisper->hypotheses[i].ids = whisper->hypothesis_ids + i * length;
    }
    return CLF_OK;
}

clf_status clf__whisper_create(struct clf__whisper **out, const struct clf__whisper_limits *limits)
{
    struct clf__whisper *whisper;
    *out = NULL;
    CLF__TRY(clf__allocate(&whisper, 1, sizeof *whisper));
    whisper->limits = *limits;
    whisper->rows = clf__whisper_rows(limits);
    clf_status status = allocate_asked(whisper);
    status = status == CLF_OK ? allocate_given(whisper) : status;
    status = status == CLF_OK ? allocate_paths(whisper) : status;
    if (status != CLF_OK) {
        clf__whisper_free(whisper);
        return status;
    }
    *out = whisper;
    return CLF_OK;
}

void clf__whisper_free(struct clf__whisper *whisper)
{
    if (whisper == NULL) {
        return;
    }
    struct clf__step *step = &whisper->step;
    void *const parts[] = {
        whisper->tokens,
        whisper->positions,
        whisper->cache_rows,
        whisper->parents,
        whisper->slots,
        whisper->banned,
        whisper->banned_offsets,
        whisper->ranges,
        step->values,
        step->ids,
        step->statistics,
        step->range_values,
        step->range_ids,
        whisper->candidates,
        step->range_statistics,
        whisper->best,
        whisper->best_sums,
        whisper->hypothesis_ids,
        whisper->hypotheses,
        whisper->texts,
        whisper->listed,
        whisper->sorted,
        whisper->keeps_logits,
        step->logits,
        whisper->draws,
        step->draw_values,
        step->draw_ids,
        step->draw_logits,
        whisper->searches,
        whisper->prefill,
        whisper->prefill_offsets,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        clf__free(parts[i]);
    }
    clf__free(whisper);
}

/* Returns the number of finished hypotheses at which a beam search ends. Greedy search needs no patience. */
static int count_wanted(const struct clf__whisper_rules *rules)
{
    if (!rules->follows_ctranslate2) {
        return clf__whisper_wanted(rules->beams, rules->patience);
    }
    return rules->beams == 1 ? 1 : (int)lround(rules->beams * rules->patience);
}

void clf__whisper_begin(struct clf__whisper *whisper, const struct clf__whisper_rules *rules,
                        const int32_t *prompt, int count, int slot)
{
    assert(count >= 1 && count <= whisper->limits.positions && slot < whisper->limits.slots);
    assert(rules->suppressed_first_count <= whisper->limits.banned);
    assert(rules->forced != NULL || rules->prefix_count <= count);
    assert(whisper->limits.logits > 0 || !clf__whisper_reads_logits(rules));
    struct clf__whisper_window *search = &whisper->searches[slot];
    int is_drawn = rules->temperature > 0;
    int given =
        rules->forced != NULL ? 0 : clf__min_int(rules->prefix_count, clf__max_int(rules->most_tokens, 0));
    int wanted = is_drawn ? rules->samples : count_wanted(rules);
    assert(is_drawn ? rules->samples <= whisper->limits.samples : rules->beams <= whisper->limits.beams);
    assert(!is_drawn || wanted > 0);
    search->rules = rules;
    search->prompt = prompt;
    search->prompt_count = count;
    search->fed = search->at = 0;
    search->running_count = 1;
    search->running[0].count = given;
    if (given > 0) {
        memcpy(search->running[0].ids, prompt + count - rules->prefix_count, (size_t)given * sizeof *prompt);
    }
    search->running[0].sum = 0;
    search->running[0].parent = 0;
    search->running[0].sample = 0;
    search->finished_count = 0;
    search->wanted = wanted < 1 ? 1 : wanted;
    search->best_has_ended = 0;
    search->is_over =
        rules->most_tokens <= rules->prefix_count || (rules->forced != NULL && rules->forced_count == 0);
    search->is_not_finite = 0;
    search->no_speech = 0;
    assert(search->wanted <= whisper->limits.finished);
}

void clf__whisper_remove(struct clf__whisper *whisper, int slot)
{
    whisper->searches[slot].rules = NULL;
}

static int is_under_way(const struct clf__whisper_window *search)
{
    return search->rules != NULL && !search->is_over;
}

int clf__whisper_is_over(const struct clf__whisper *whisper, int slot)
{
    return !is_under_way(&whisper->searches[slot]);
}

/* Returns 1 if the step yields candidates: its token is the last token of the prompt or a later one. */
static int gives_candidates(const struct clf__whisper_window *search)
{
    return search->at >= search->prompt_count - 1;
}

/* Returns 1 at the transcript's start token, where the no-speech probability is read. */
static int hears_speech(const struct clf__whisper_window *search)
{
    return search->at < search->prompt_count && search->prompt[search->at] == search->rules->start_id;
}

/* Selects the next token whose output is read: in the prompt, these are the transcript's start token and the
 * last token. The tokens before them are prefilled. */
static void choose_token(struct clf__whisper_window *search)
{
    search->at = search->fed;
    while (search->at < search->prompt_count - 1 && !hears_speech(search)) {
        search->at++;
    }
}

/* Bans every id that follows an earlier occurrence of the last `before` ids. */
static void ban_ngrams(struct clf__id_list *banned, const struct clf__whisper_hypothesis *hypothesis,
                       int before)
{
    const int32_t *ids = hypothesis->ids;
    for (int i = 0; i + before < hypothesis->count; i++) {
        if (memcmp(ids + i, ids + hypothesis->count - before, (size_t)before * sizeof *ids) == 0) {
            clf__id_list_insert(banned, ids[i + before]);
        }
    }
}

static void ban(struct clf__whisper *whisper, const struct clf__whisper_window *search, int row,
                const struct clf__whisper_hypothesis *hypothesis)
{
    const struct clf__whisper_rules *rules = search->rules;
    int is_first = clf__whisper_generated(search, hypothesis) == 0;
    const int32_t *ids = is_first ? rules->suppressed_first : rules->suppressed;
    int count = is_first ? rules->suppressed_first_count : rules->suppressed_count;
    int32_t at = whisper->banned_offsets[row];
    count = gives_candidates(search) ? count : 0;
    struct clf__id_list banned = {whisper->banned + at, count};
    if (count > 0) {
        memcpy(banned.ids, ids, (size_t)count * sizeof *ids);
    }
    if (gives_candidates(search) && rules->no_repeat_ngram > 0) {
        ban_ngrams(&banned, hypothesis, rules->no_repeat_ngram - 1);
    }
    whisper->banned_offsets[row + 1] = at + banned.count;
}

/* Lists the tokens prefilled before a row's own token: a part of the prompt, which has a single row. */
static void give(struct clf__whisper *whisper, const struct clf__whisper_window *search, int row)
{
    int32_t at = whisper->prefill_offsets[row];
    int count = search->at - search->fed;
    if (count > 0) {
        memcpy(whisper->prefill + at, search->prompt + search->fed, (size_t)count * sizeof *whisper->prefill);
    }
    whisper->prefill_offsets[row + 1] = at + count;
}

/* Requests the draws of a row; after the prompt all samples are drawn from its only row. */
static void ask_for_draws(struct clf__whisper *whisper, const struct clf__whisper_window *search, int row,
                          const struct clf__whisper_hypothesis *hypothesis)
{
    const struct clf__whisper_rules *rules = search->rules;
    int generated = clf__whisper_generated(search, hypothesis);
    int first = generated > 0 ? hypothesis->sample : 0;
    int end = generated > 0 ? first + 1 : rules->samples;
    for (int sample = first; sample < end; sample++) {
        whisper->draws[whisper->step.draw_count++] = (struct clf__draw){
            .row = row,
            .sample = sample,
            .count = generated,
            .key_low = (uint32_t)rules->random_key,
            .key_high = (uint32_t)(rules->random_key >> 32),
            .temperature = (float)rules->temperature,
        };
    }
}

static void ask_for_logits(struct clf__whisper *whisper, const struct clf__whisper_window *search, int row)
{
    int needs = gives_candidates(search) && clf__whisper_reads_logits(search->rules);
    whisper->step.wants_logits |= needs;
    if (whisper->keeps_logits != NULL) {
        whisper->keeps_logits[row] = (uint8_t)needs;
    }
}

/* Adds the rows of a window to the step. */
static void ask(struct clf__whisper *whisper, int slot)
{
    struct clf__whisper_window *search = &whisper->searches[slot];
    struct clf__step *step = &whisper->step;
    int first_row = slot * whisper->rows;
    choose_token(search);
    search->first_row = step->rows;
    search->first_draw = step->draw_count;
    for (int i = 0; i < search->running_count; i++) {
        const struct clf__whisper_hypothesis *hypothesis = &search->running[i];
        int r = step->rows++;
        whisper->tokens[r] = search->at < search->prompt_count ? search->prompt[search->at]
                                                               : hypothesis->ids[hypothesis->count - 1];
        whisper->positions[r] = search->at;
        whisper->cache_rows[r] = first_row + i;
        whisper->parents[r] = first_row + hypothesis->parent;
        whisper->slots[r] = slot;
        ban(whisper, search, r, hypothesis);
        give(whisper, search, r);
        clf__timestamps_ranges(whisper->ranges + (size_t)r * CLF__WHISPER_RANGES * 2, search->rules,
                               hypothesis->ids + search->rules->prefix_count,
                               clf__whisper_generated(search, hypothesis));
        ask_for_logits(whisper, search, r);
        if (search->rules->temperature > 0 && gives_candidates(search)) {
            ask_for_draws(whisper, search, r, hypothesis);
        }
    }
    step->both_statistics |= hears_speech(search);
}

struct clf__step *clf__whisper_prepare(struct clf__whisper *whisper)
{
    struct clf__step *step = &whisper->step;
    step->rows = step->draw_count = step->both_statistics = step->wants_logits = 0;
    for (int slot = 0; slot < whisper->limits.slots; slot++) {
        if (is_under_way(&whisper->searches[slot])) {
            ask(whisper, slot);
        }
    }
    step->ranges_before = step->both_statistics; /* the range of the no-speech token ignores bans, because the
                                                    token itself is banned */
    step->prefill_offsets = whisper->prefill_offsets[step->rows] > 0 ? whisper->prefill_offsets : NULL;
    return step->rows > 0 ? step : NULL;
}

static void hear(struct clf__whisper_window *search, const struct clf__step *step)
{
    size_t row = (size_t)search->first_row, range = row * CLF__WHISPER_RANGES * (size_t)step->candidates;
    if (hears_speech(search) && step->range_ids[range] >= 0) {
        const float *statistics = step->statistics + row * 4;
        search->no_speech =
            exp((double)step->range_values[range] - (double)statistics[0] - (double)statistics[1]);
    }
}

/* A NaN among the logits makes the log sum NaN. */
static int is_finite(const struct clf__whisper_window *search, const struct clf__step *step)
{
    for (int i = 0; i < search->running_count; i++) {
        if (isnan(step->statistics[4 * (size_t)(search->first_row + i) + 3])) {
            return 0;
        }
    }
    return 1;
}

static int has_enough(const struct clf__whisper_window *search)
{
    const struct clf__whisper_rules *rules = search->rules;
    int is_early = rules->follows_ctranslate2 && rules->temperature <= 0 && rules->length_penalty == 0;
    return is_early ? search->best_has_ended && search->finished_count >= rules->wanted
                    : search->finished_count >= search->wanted;
}

static int is_full(const struct clf__whisper *whisper, const struct clf__whisper_window *search)
{
    return search->running_count > 0 && clf__whisper_is_full(whisper, search, search->running[0].count);
}

void clf__whisper_advance(struct clf__whisper *whisper)
{
    for (int slot = 0; slot < whisper->limits.slots; slot++) {
        struct clf__whisper_window *search = &whisper->searches[slot];
        if (!is_under_way(search)) {
            continue;
        }
        if (!is_finite(search, &whisper->step)) {
            search->is_over = search->is_not_finite = 1;
            continue;
        }
        hear(search, &whisper->step);
        search->fed = search->at + 1;
        if (gives_candidates(search)) {
            if (clf__whisper_reads_logits(search->rules)) {
                clf__whisper_rescore(whisper, search);
            }
            if (search->rules->logits != NULL) {
                clf__whisper_keep_logits(whisper, search);
            }
            clf__whisper_extend(whisper, search);
            search->is_over = search->running_count == 0 || has_enough(search) || is_full(whisper, search);
        }
    }
}

uint64_t clf__draws_key(uint64_t seed, int64_t window, int attempt)
{
    return clf__random_key(clf__random_key(seed, (uint64_t)window), (uint64_t)attempt);
}
