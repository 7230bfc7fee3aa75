#include "search/passage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "search/internal.h"
#include "search/passage_internal.h"

int clf__passage_rows(const struct clf__passage_limits *limits)
{
    return clf__max_int(limits->beams, limits->samples);
}

int clf__passage_wanted(int beams, double patience)
{
    return (int)lrint(beams * patience); /* half to even, as in Python */
}

int clf__passage_candidates(const struct clf__passage_limits *limits)
{
    return limits->beams > 1 || limits->wanted > 1 ? limits->beams + 1 : 1;
}

static size_t all_rows(const struct clf__passage *passage)
{
    return (size_t)passage->limits.slots * (size_t)passage->rows;
}

static clf_status allocate_asked(struct clf__passage *passage)
{
    size_t rows = all_rows(passage), banned = (size_t)passage->limits.banned;
    size_t given = (size_t)passage->limits.slots * (size_t)passage->limits.positions;
    CLF__TRY(clf__allocate(&passage->tokens, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->positions, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->cache_rows, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->parents, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->slots, rows, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->banned, rows * banned, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->banned_offsets, rows + 1, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->ranges, rows * CLF__PASSAGE_RANGES * 2, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->given, given, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&passage->given_offsets, rows + 1, sizeof(int32_t)));
    struct clf__step *step = &passage->step;
    step->tokens = passage->tokens;
    step->positions = passage->positions;
    step->cache_rows = passage->cache_rows;
    step->parents = passage->parents;
    step->slots = passage->slots;
    step->banned = passage->banned;
    step->banned_offsets = passage->banned_offsets;
    step->ranges = passage->ranges;
    step->given = passage->given;
    step->ranges_each = CLF__PASSAGE_RANGES;
    return CLF_OK;
}

static clf_status allocate_given(struct clf__passage *passage)
{
    struct clf__step *step = &passage->step;
    step->candidates = clf__passage_candidates(&passage->limits);
    size_t rows = all_rows(passage), k = (size_t)step->candidates;
    size_t in_ranges = rows * CLF__PASSAGE_RANGES;
    size_t draws = (size_t)passage->limits.slots * (size_t)passage->limits.samples;
    size_t drawn = draws * CLF__PASSAGE_RANGES;
    if (draws > 0) {
        CLF__TRY(clf__allocate(&passage->draws, draws, sizeof *passage->draws));
        CLF__TRY(clf__allocate(&step->draw_values, drawn, sizeof(float)));
        CLF__TRY(clf__allocate(&step->draw_ids, drawn, sizeof(int32_t)));
        CLF__TRY(clf__allocate(&step->draw_logits, drawn, sizeof(float)));
        step->draws = passage->draws;
    }
    CLF__TRY(clf__allocate(&step->values, rows * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->ids, rows * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->statistics, rows * 4, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_values, in_ranges * k, sizeof(float)));
    CLF__TRY(clf__allocate(&step->range_ids, in_ranges * k, sizeof(int32_t)));
    CLF__TRY(clf__allocate(&step->range_statistics, in_ranges * 2, sizeof(float)));
    CLF__TRY(clf__allocate(&passage->ways, (size_t)passage->rows * k, sizeof *passage->ways));
    CLF__TRY(clf__allocate(&passage->best, k, sizeof *passage->best));
    return clf__allocate(&passage->best_sums, k, sizeof *passage->best_sums);
}

static clf_status allocate_paths(struct clf__passage *passage)
{
    size_t slots = (size_t)passage->limits.slots, rows = (size_t)passage->rows;
    size_t each = 2 * rows + (size_t)passage->limits.finished, length = (size_t)passage->limits.positions + 1;
    CLF__TRY(clf__allocate(&passage->searches, slots, sizeof *passage->searches));
    CLF__TRY(clf__allocate(&passage->paths, slots * each, sizeof *passage->paths));
    CLF__TRY(clf__allocate(&passage->path_ids, slots * each * length, sizeof *passage->path_ids));
    for (size_t i = 0; i < slots; i++) {
        struct clf__passage_search *search = &passage->searches[i];
        search->running = passage->paths + i * each;
        search->next = search->running + rows;
        search->finished = search->next + rows;
    }
    for (size_t i = 0; i < slots * each; i++) {
        passage->paths[i].ids = passage->path_ids + i * length;
    }
    return CLF_OK;
}

clf_status clf__passage_create(struct clf__passage **out, const struct clf__passage_limits *limits)
{
    struct clf__passage *passage;
    *out = NULL;
    CLF__TRY(clf__allocate(&passage, 1, sizeof *passage));
    passage->limits = *limits;
    passage->rows = clf__passage_rows(limits);
    clf_status status = allocate_asked(passage);
    status = status == CLF_OK ? allocate_given(passage) : status;
    status = status == CLF_OK ? allocate_paths(passage) : status;
    if (status != CLF_OK) {
        clf__passage_free(passage);
        return status;
    }
    *out = passage;
    return CLF_OK;
}

void clf__passage_free(struct clf__passage *passage)
{
    if (passage == NULL) {
        return;
    }
    struct clf__step *step = &passage->step;
    void *const parts[] = {
        passage->tokens,
        passage->positions,
        passage->cache_rows,
        passage->parents,
        passage->slots,
        passage->banned,
        passage->banned_offsets,
        passage->ranges,
        step->values,
        step->ids,
        step->statistics,
        step->range_values,
        step->range_ids,
        passage->ways,
        step->range_statistics,
        passage->best,
        passage->best_sums,
        passage->path_ids,
        passage->paths,
        passage->draws,
        step->draw_values,
        step->draw_ids,
        step->draw_logits,
        passage->searches,
        passage->given,
        passage->given_offsets,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        clf__free(parts[i]);
    }
    clf__free(passage);
}

void clf__passage_begin(struct clf__passage *passage, const struct clf__passage_rules *rules,
                        const int32_t *prompt, int count, int slot)
{
    assert(count >= 1 && count <= passage->limits.positions && slot < passage->limits.slots);
    assert(rules->suppressed_first_count <= passage->limits.banned);
    struct clf__passage_search *search = &passage->searches[slot];
    int wanted = clf__passage_wanted(passage->limits.beams, rules->patience);
    wanted = rules->temperature > 0 ? passage->limits.samples : wanted;
    assert(rules->temperature <= 0 || wanted > 0);
    search->rules = rules;
    search->prompt = prompt;
    search->prompt_count = count;
    search->fed = search->at = 0;
    search->running_count = 1;
    search->running[0].count = 0;
    search->running[0].sum = 0;
    search->running[0].parent = 0;
    search->running[0].sample = 0;
    search->finished_count = 0;
    search->wanted = wanted < 1 ? 1 : wanted;
    search->is_over = rules->most_tokens < 1;
    search->is_not_finite = 0;
    search->no_speech = 0;
    assert(search->wanted <= passage->limits.finished);
}

void clf__passage_forget(struct clf__passage *passage)
{
    for (int slot = 0; slot < passage->limits.slots; slot++) {
        passage->searches[slot].rules = NULL;
    }
}

static int is_under_way(const struct clf__passage_search *search)
{
    return search->rules != NULL && !search->is_over;
}

/* The prompt's last token and all behind it have candidates. */
static int gives_candidates(const struct clf__passage_search *search)
{
    return search->at >= search->prompt_count - 1;
}

/* What stands before the transcript's start tells whether anybody speaks. */
static int hears_speech(const struct clf__passage_search *search)
{
    return search->at < search->prompt_count && search->prompt[search->at] == search->rules->start_id;
}

/* The next token of which anything is wanted: of the prompt the start of the transcript, and the last one.
 * Those before it are given. */
static void choose_token(struct clf__passage_search *search)
{
    search->at = search->fed;
    while (search->at < search->prompt_count - 1 && !hears_speech(search)) {
        search->at++;
    }
}

static void ban(struct clf__passage *passage, const struct clf__passage_search *search, int row,
                const struct clf__path *path)
{
    const struct clf__passage_rules *rules = search->rules;
    int is_first = path->count == 0;
    const int32_t *ids = is_first ? rules->suppressed_first : rules->suppressed;
    int count = is_first ? rules->suppressed_first_count : rules->suppressed_count;
    int32_t at = passage->banned_offsets[row];
    count = gives_candidates(search) ? count : 0;
    if (count > 0) {
        memcpy(passage->banned + at, ids, (size_t)count * sizeof *ids);
    }
    passage->banned_offsets[row + 1] = at + count;
}

/* What is given before a row's own token: only a prompt's, which has one row. */
static void give(struct clf__passage *passage, const struct clf__passage_search *search, int row)
{
    int32_t at = passage->given_offsets[row];
    int count = search->at - search->fed;
    if (count > 0) {
        memcpy(passage->given + at, search->prompt + search->fed, (size_t)count * sizeof *passage->given);
    }
    passage->given_offsets[row + 1] = at + count;
}

/* Behind the prompt samples part: all are drawn from its row. */
static void ask_for_draws(struct clf__passage *passage, const struct clf__passage_search *search, int row,
                          const struct clf__path *path)
{
    const struct clf__passage_rules *rules = search->rules;
    int first = path->count > 0 ? path->sample : 0;
    int end = path->count > 0 ? first + 1 : passage->limits.samples;
    for (int sample = first; sample < end; sample++) {
        passage->draws[passage->step.draw_count++] = (struct clf__draw){
            .row = row,
            .sample = sample,
            .count = path->count,
            .key_low = (uint32_t)rules->random_key,
            .key_high = (uint32_t)(rules->random_key >> 32),
            .temperature = (float)rules->temperature,
        };
    }
}

/* Adds the rows of a window. */
static void ask(struct clf__passage *passage, int slot)
{
    struct clf__passage_search *search = &passage->searches[slot];
    struct clf__step *step = &passage->step;
    int first_row = slot * passage->rows;
    choose_token(search);
    search->first_row = step->rows;
    search->first_draw = step->draw_count;
    for (int i = 0; i < search->running_count; i++) {
        const struct clf__path *path = &search->running[i];
        int r = step->rows++;
        passage->tokens[r] = path->count > 0 ? path->ids[path->count - 1] : search->prompt[search->at];
        passage->positions[r] = search->at;
        passage->cache_rows[r] = first_row + i;
        passage->parents[r] = first_row + path->parent;
        passage->slots[r] = slot;
        ban(passage, search, r, path);
        give(passage, search, r);
        clf__timestamps_ranges(passage->ranges + (size_t)r * CLF__PASSAGE_RANGES * 2, search->rules,
                               path->ids, path->count);
        if (search->rules->temperature > 0 && gives_candidates(search)) {
            ask_for_draws(passage, search, r, path);
        }
    }
    step->both_statistics |= hears_speech(search);
}

struct clf__step *clf__passage_prepare(struct clf__passage *passage)
{
    struct clf__step *step = &passage->step;
    step->rows = step->draw_count = step->both_statistics = 0;
    for (int slot = 0; slot < passage->limits.slots; slot++) {
        if (is_under_way(&passage->searches[slot])) {
            ask(passage, slot);
        }
    }
    step->ranges_before = step->both_statistics; /* that of no speech, which is banned itself */
    step->given_offsets = passage->given_offsets[step->rows] > 0 ? passage->given_offsets : NULL;
    return step->rows > 0 ? step : NULL;
}

static void hear(struct clf__passage_search *search, const struct clf__step *step)
{
    size_t row = (size_t)search->first_row, range = row * CLF__PASSAGE_RANGES * (size_t)step->candidates;
    if (hears_speech(search) && step->range_ids[range] >= 0) {
        const float *statistics = step->statistics + row * 4;
        search->no_speech =
            exp((double)step->range_values[range] - (double)statistics[0] - (double)statistics[1]);
    }
}

/* A NaN among the logits makes the log sum NaN. */
static int is_finite(const struct clf__passage_search *search, const struct clf__step *step)
{
    for (int i = 0; i < search->running_count; i++) {
        if (isnan(step->statistics[4 * (size_t)(search->first_row + i) + 3])) {
            return 0;
        }
    }
    return 1;
}

void clf__passage_advance(struct clf__passage *passage)
{
    for (int slot = 0; slot < passage->limits.slots; slot++) {
        struct clf__passage_search *search = &passage->searches[slot];
        if (!is_under_way(search)) {
            continue;
        }
        if (!is_finite(search, &passage->step)) {
            search->is_over = search->is_not_finite = 1;
            continue;
        }
        hear(search, &passage->step);
        search->fed = search->at + 1;
        if (gives_candidates(search)) {
            clf__passage_go_on(passage, search);
            int length = search->running_count > 0 ? search->running[0].count : 0;
            search->is_over = search->running_count == 0 || search->finished_count >= search->wanted ||
                              length >= search->rules->most_tokens ||
                              search->fed >= passage->limits.positions;
        }
    }
}

uint64_t clf__draws_key(uint64_t seed, int64_t window, int attempt)
{
    return clf__random_key(clf__random_key(seed, (uint64_t)window), (uint64_t)attempt);
}

static int text_length(const struct clf__passage_search *search, const struct clf__path *path)
{
    return path->count - (path->count > 0 && path->ids[path->count - 1] == search->rules->end_id);
}

static double score(const struct clf__passage_search *search, const struct clf__path *path)
{
    double penalty = search->rules->length_penalty;
    int length = text_length(search, path);
    length = length > 0 ? length : 1;
    return path->sum / (penalty < 0 ? length : pow((5.0 + length) / 6.0, penalty));
}

/* Of equal ones the first sample. */
static const struct clf__path *better(const struct clf__passage_search *search, const struct clf__path *best,
                                      const struct clf__path *path)
{
    double gain = best != NULL ? score(search, path) - score(search, best) : 1;
    return gain > 0 || (gain == 0 && path->sample < best->sample) ? path : best;
}

struct clf__passage_result clf__passage_result(const struct clf__passage *passage, int slot)
{
    const struct clf__passage_search *search = &passage->searches[slot];
    const struct clf__path *best = NULL;
    int is_drawn = search->rules->temperature > 0;
    if (search->is_not_finite) {
        return (struct clf__passage_result){.is_not_finite = 1};
    }
    int missing = (is_drawn ? passage->limits.samples : passage->limits.beams) - search->finished_count;
    for (int i = 0; i < search->finished_count; i++) {
        best = better(search, best, &search->finished[i]);
    }
    /* Where too few have ended, those that have not make up for them. */
    for (int i = 0; i < missing && i < search->running_count; i++) {
        best = better(search, best, &search->running[i]);
    }
    if (best == NULL) {
        return (struct clf__passage_result){.no_speech = search->no_speech};
    }
    return (struct clf__passage_result){.ids = best->ids,
                                        .count = text_length(search, best),
                                        .log_probability = best->sum,
                                        .no_speech = search->no_speech};
}
