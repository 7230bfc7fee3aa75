/* A model without weights for search tests: the logit of an id is a hash of source, previous tokens and id,
 * as in tests/fixtures/search/make_search_cases.py. Its step keeps one history per cache row and checks the
 * guarantees in search.h. */
#ifndef CLF_TESTS_SEARCH_TOY_H
#define CLF_TESTS_SEARCH_TOY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/options.h"
#include "search/search.h"
#include "search/toy_choice.h"
#include "support/support.h"

enum { TOY_CACHE_ROWS = 1024, TOY_VOCABULARY = 64, TOY_END = 0, TOY_START = 1, TOY_PLACES = 6 };

struct toy {
    int vocabulary, spread, end_bonus, shift;
    const struct clf__search_options *options; /* for all sources, or one per source */
    int options_each;
    const int *seeds; /* one a source */
    int sources;
    struct clf__search_limits limits; /* set by toy_search() */
    int fail_at;                      /* the step that fails; 0 = none */
    int nan_source,
        nan_position;        /* all logits of this source are NaN from this position on; source -1 = none */
    int admit_most;          /* maximum number of sources admitted at a time; 0: no limit */
    uint32_t admit_at_times; /* not 0: seed for random numbers of admitted sources, including zero */
    int long_source;         /* this source never ends by itself; -1 = none */
    int source_count;        /* ids of every source; 0: not set */
    int ahead;               /* prepares steps ahead if possible */
    /* Filled while it runs. */
    struct toy_result *result;
    int admissions, calls, rows, calls_ahead;
    int admitted, under_search, finished;
    int occupants[TOY_CACHE_ROWS];
    uint32_t states[TOY_CACHE_ROWS];
    int positions[TOY_CACHE_ROWS]; /* tokens that a cache row has seen; -1: none of its occupant */
};

/* Results: source s starts at [s * n_best], where n_best is the maximum over sources; missing ones have
 * length 0. */
struct toy_result {
    struct clf__hypothesis *hypotheses;
    int sources, n_best;
};

static inline uint32_t toy_follow(uint32_t state, int token)
{
    state = (state ^ (uint32_t)token) * 0x9E3779B1u + 0x7F4A7C15u;
    return state ^ (state >> 15);
}

static inline void toy_logits(float *logits, const struct toy *toy, uint32_t state)
{
    for (int id = 0; id < toy->vocabulary; id++) {
        uint32_t x = state + (uint32_t)id * 0x85EBCA6Bu;
        x = (x ^ (x >> 16)) * 0x7FEB352Du;
        x = (x ^ (x >> 15)) * 0x846CA68Bu;
        x ^= x >> 16;
        int units = (int)(x >> 12) >> (3 - toy->spread);
        units += (id == TOY_END ? toy->end_bonus * (1 << 17) : 0) - toy->shift * (1 << 17);
        logits[id] = (float)units / (1 << 17);
    }
}

/* Attention of a state: to 3 to TOY_PLACES positions of its source, zero beyond; a quarter have no attention
 * at all. */
static inline void toy_attention(float *attention, int seed, uint32_t state)
{
    int places = 3 + (seed & 0xff) % (TOY_PLACES - 2);
    float sum = 1.0f;
    for (int i = 0; i < TOY_PLACES; i++) {
        uint32_t x = toy_follow(state, 1000 + i) >> 8;
        attention[i] = i < places && x % 4 != 0 ? (float)(x % 1000) : 0.0f;
        sum += attention[i];
    }
    for (int i = 0; i < TOY_PLACES; i++) {
        attention[i] /= sum;
    }
}

/* { max, log sum exp(x - max) } */
static inline void toy_statistics(float *statistics, const float *logits, int count)
{
    float max = -INFINITY;
    for (int i = 0; i < count; i++) {
        max = logits[i] > max ? logits[i] : max;
    }
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        sum += logits[i] == -INFINITY ? 0.0 : exp((double)logits[i] - max);
    }
    statistics[0] = max;
    statistics[1] = (float)log(sum);
}

static inline const struct clf__search_options *toy_options_of(const struct toy *toy, int source)
{
    return &toy->options[toy->options_each ? source : 0];
}

/* Returns the number of beams or samples. */
static inline int toy_rows(const struct clf__search_options *options)
{
    return options->sampling.is_on && options->beams == 1 ? options->n_best : options->beams;
}

static inline void toy_check_row(const struct toy *toy, const struct clf__step *step, int row)
{
    int beams = toy->limits.beams;
    int slot = step->slots[row], position = step->positions[row];
    int cache_row = step->cache_rows[row], parent = step->parents[row];
    assert_in_range(slot, 0, toy->limits.slots - 1);
    assert_in_range(toy->occupants[slot], 0, toy->sources - 1);
    const struct clf__search_options *options = toy_options_of(toy, toy->occupants[slot]);
    assert_int_equal(cache_row / beams, slot);
    assert_int_equal(parent / beams, slot);
    assert_true(row == 0 || cache_row > step->cache_rows[row - 1]);
    if (position == 0) {
        assert_int_equal(step->tokens[row], options->start_id);
        assert_int_equal(parent, cache_row);
        assert_int_equal(cache_row, slot * beams);
        assert_int_equal(toy->positions[cache_row], -1);
    } else {
        int is_unknown = step->token_rows[row] >= 0; /* may have ended, or no token was left */
        for (int i = 0; i < step->choice_count; i++) {
            is_unknown |= row >= step->choices[i].row && row < step->choices[i].row + step->choices[i].beams;
        }
        assert_in_range(step->tokens[row] + is_unknown, 0, toy->vocabulary - 1 + is_unknown);
        assert_true(is_unknown || !clf__is_end(options, step->tokens[row]) ||
                    options->early_stopping == CLF__STOP_ALL);
        assert_int_equal(toy->positions[parent], position - 1);
    }
    assert_true(cache_row - slot * beams < toy_rows(options));
    int banned = step->banned_offsets[row + 1] - step->banned_offsets[row];
    assert_true(banned >= 0 && (size_t)banned <= clf__bans_limit(options));
    for (int i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
        assert_in_range(step->banned[i], 0, toy->vocabulary - 1);
        assert_true(i == step->banned_offsets[row] || step->banned[i] > step->banned[i - 1]);
    }
}

static inline void toy_check_step(const struct toy *toy, const struct clf__step *step)
{
    int beams = 0, wanted = 0;
    for (int slot = 0; slot < toy->limits.slots; slot++) {
        int source = toy->occupants[slot];
        if (source < 0) {
            continue;
        }
        const struct clf__search_options *options = toy_options_of(toy, source);
        int own = toy_rows(options), is_one = options->sampling.is_on || own == 1;
        int own_wanted = is_one ? 1 : own * (2 + options->other_end_count);
        beams = own > beams ? own : beams;
        wanted = own_wanted > wanted ? own_wanted : wanted;
    }
    assert_true(step->rows > 0);
    assert_true(step->rows <= toy->under_search * beams);
    assert_int_equal(step->candidates, wanted < toy->vocabulary ? wanted : toy->vocabulary);
    assert_int_equal(step->banned_offsets[0], 0);
    for (int row = 0; row < step->rows; row++) {
        toy_check_row(toy, step, row);
    }
}

static inline void toy_answer_row(const struct toy *toy, struct clf__step *step, int row)
{
    float logits[TOY_VOCABULARY];
    int source = toy->occupants[step->slots[row]];
    toy_logits(logits, toy, toy->states[step->cache_rows[row]]);
    if (source == toy->long_source) {
        logits[TOY_END] = -1000.0f;
    }
    if (source == toy->nan_source && step->positions[row] >= toy->nan_position) {
        for (int id = 0; id < toy->vocabulary; id++) {
            logits[id] = NAN;
        }
    }
    float *statistics = step->statistics + 4 * row;
    statistics[0] = statistics[1] = NAN;
    if (step->both_statistics) {
        toy_statistics(statistics, logits, toy->vocabulary);
    }
    if (step->wants_logits) {
        size_t width = (size_t)toy->vocabulary;
        memcpy(step->logits + (size_t)row * width, logits, width * sizeof *logits);
    }
    if (step->wants_attention) {
        toy_attention(step->attention + (size_t)row * TOY_PLACES, toy->seeds[source],
                      toy->states[step->cache_rows[row]]);
    }
    for (int i = row * step->picks_each; i < (row + 1) * step->picks_each; i++) {
        assert_in_range(step->picks[i] + 1, 0, toy->vocabulary);
        step->pick_values[i] = step->picks[i] < 0 ? -INFINITY : logits[step->picks[i]];
    }
    for (int i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
        logits[step->banned[i]] = -INFINITY;
    }
    toy_statistics(statistics + 2, logits, toy->vocabulary);
    for (int rank = 0; rank < step->candidates; rank++) {
        int best = -1;
        for (int id = 0; id < toy->vocabulary; id++) {
            if (logits[id] > (best < 0 ? -INFINITY : logits[best])) {
                best = id;
            }
        }
        step->values[row * step->candidates + rank] = best < 0 ? -INFINITY : logits[best];
        step->ids[row * step->candidates + rank] = best;
        if (best >= 0) {
            logits[best] = -INFINITY;
        }
    }
}

/* Returns how many of `count` sources to admit now. */
static inline int toy_choose(struct toy *toy, int count)
{
    if (toy->admit_at_times != 0) {
        toy->admit_at_times = toy_follow(toy->admit_at_times, count);
        int chosen = (int)(toy->admit_at_times % (uint32_t)(count + 1));
        return chosen == 0 && toy->under_search == 0 ? 1 : chosen;
    }
    return toy->admit_most > 0 && toy->admit_most < count ? toy->admit_most : count;
}

/* Admits sources into free slots. */
static inline void toy_admit(struct toy *toy, struct clf__search *search)
{
    int beams = toy->limits.beams, waiting = toy->sources - toy->admitted;
    int room = toy->limits.slots - toy->under_search;
    int count = toy_choose(toy, waiting < room ? waiting : room);
    toy->admissions += count > 0;
    for (int slot = 0; count > 0; slot++) {
        assert_in_range(slot, 0, toy->limits.slots - 1);
        assert_int_equal(clf__search_is_free(search, slot), toy->occupants[slot] < 0);
        if (toy->occupants[slot] >= 0) {
            continue;
        }
        int source = toy->admitted++;
        toy->occupants[slot] = source;
        for (int cache_row = slot * beams; cache_row < (slot + 1) * beams; cache_row++) {
            toy->positions[cache_row] = -1;
        }
        assert_ok(clf__search_add(search, slot, toy_options_of(toy, source), source));
        clf__search_set_identity(search, slot, (uint64_t)toy->seeds[source]);
        if (toy->source_count > 0) {
            static const int32_t ids[TOY_VOCABULARY];
            assert_in_range(toy->source_count, 1, TOY_VOCABULARY);
            clf__search_set_source(search, slot, ids, toy->source_count);
        }
        toy->under_search++;
        count--;
    }
}

static inline clf_status toy_step(struct toy *toy, struct clf__step *step)
{
    toy_check_step(toy, step);
    uint32_t states[TOY_CACHE_ROWS];
    memcpy(states, toy->states, sizeof states);
    for (int row = 0; row < step->rows; row++) {
        int cache_row = step->cache_rows[row];
        uint32_t state = step->positions[row] == 0
                             ? toy_follow(0, toy->seeds[toy->occupants[step->slots[row]]])
                             : states[step->parents[row]];
        toy->states[cache_row] = toy_follow(state, step->tokens[row]);
    }
    step->attention_columns = TOY_PLACES;
    for (int row = 0; row < step->rows; row++) {
        toy->positions[step->cache_rows[row]] = step->positions[row];
        toy_answer_row(toy, step, row);
    }
    toy->calls++;
    toy->rows += step->rows;
    if (toy->calls == toy->fail_at) {
        return clf__fail(CLF_DEVICE, "toy: call %d was made to fail", toy->calls);
    }
    return CLF_OK;
}

static inline void toy_finish(struct toy *toy, struct clf__search *search)
{
    struct clf__search_result found;
    while (clf__search_take(search, &found)) {
        assert_in_range(found.slot, 0, toy->limits.slots - 1);
        assert_int_equal(toy->occupants[found.slot], found.tag);
        assert_in_range(found.count, 0, toy_options_of(toy, found.tag)->n_best);
        assert_int_equal(found.is_not_finite, found.tag == toy->nan_source);
        assert_true(!found.is_not_finite || found.count == 0);
        toy->occupants[found.slot] = -1;
        toy->under_search--;
        toy->finished++;
        for (int i = 0; i < found.count; i++) {
            struct clf__hypothesis *kept = &toy->result->hypotheses[found.tag * toy->result->n_best + i];
            size_t bytes = (size_t)found.hypotheses[i].length * sizeof(int32_t);
            int32_t *ids = malloc(bytes);
            assert_non_null(ids);
            assert_null(kept->ids); /* no source is finished twice */
            memcpy(ids, found.hypotheses[i].ids, bytes);
            *kept = found.hypotheses[i];
            kept->ids = ids;
        }
    }
}

/* Default options. */
static inline struct clf__search_options toy_options(int vocabulary, int beams, int n_best, int max_length)
{
    return (struct clf__search_options){.beams = beams,
                                        .n_best = n_best,
                                        .vocabulary = vocabulary,
                                        .start_id = TOY_START,
                                        .end_id = TOY_END,
                                        .max_length = max_length,
                                        .length_penalty = 1.0,
                                        .forced_last = -1,
                                        .repetition_penalty = 1.0f,
                                        .source_repetition_penalty = 1.0f,
                                        .decay_factor = 1.0f,
                                        .memory_limit = TOY_PLACES + 2,
                                        .sampling = {.temperature = 1.0f, .top_p = 1.0f, .typical_p = 1.0f}};
}

static inline struct toy toy_for(const struct clf__search_options *options, int sources, const int *seeds)
{
    assert_true(options->vocabulary <= TOY_VOCABULARY);
    return (struct toy){.vocabulary = options->vocabulary,
                        .spread = 3,
                        .options = options,
                        .seeds = seeds,
                        .sources = sources,
                        .nan_source = -1,
                        .long_source = -1};
}

static inline void toy_result_free(struct toy_result *result)
{
    for (int i = 0; i < result->sources * result->n_best; i++) {
        free((void *)result->hypotheses[i].ids);
    }
    free(result->hypotheses);
    *result = (struct toy_result){0};
}

static inline void toy_assert_same(const struct clf__hypothesis *a, const struct clf__hypothesis *b,
                                   int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(a[i].length, b[i].length);
        assert_memory_equal(a[i].ids, b[i].ids, (size_t)a[i].length * sizeof *a[i].ids);
        assert_memory_equal(&a[i].score, &b[i].score, sizeof a[i].score);
        assert_memory_equal(&a[i].log_probability, &b[i].log_probability, sizeof a[i].log_probability);
    }
}

/* Makes capacity for every source's options. */
static inline void toy_make_room(struct toy *toy, struct toy_result *result, int slots)
{
    toy->limits =
        (struct clf__search_limits){.slots = slots, .vocabulary = toy->vocabulary, .ahead = toy->ahead};
    for (int source = 0; source == 0 || (toy->options_each && source < toy->sources); source++) {
        const struct clf__search_options *options = toy_options_of(toy, source);
        struct clf__search_limits *most = &toy->limits, own = clf__search_limits_for(options, slots);
        most->beams = own.beams > most->beams ? own.beams : most->beams;
        most->ends = own.ends > most->ends ? own.ends : most->ends;
        most->max_length = own.max_length > most->max_length ? own.max_length : most->max_length;
        most->banned = own.banned > most->banned ? own.banned : most->banned;
        most->changed = own.changed > most->changed ? own.changed : most->changed;
        most->logits |= own.logits;
        most->picks = own.picks > most->picks ? own.picks : most->picks;
        most->places = own.places > most->places ? own.places : most->places;
        result->n_best = options->n_best > result->n_best ? options->n_best : result->n_best;
    }
    assert_true(slots * toy->limits.beams <= TOY_CACHE_ROWS);
}

/* Runs a step ahead: chooses its tokens from the results of the previous step. */
static inline clf_status toy_run_ahead(struct toy *toy, struct clf__step *ahead,
                                       const struct clf__step *previous)
{
    static int32_t tokens[TOY_CACHE_ROWS], parents[TOY_CACHE_ROWS];
    static float scores[TOY_CACHE_ROWS], previous_scores[TOY_CACHE_ROWS];
    struct clf__step filled = *ahead;
    filled.tokens = tokens;
    filled.parents = parents;
    memcpy(previous_scores, scores, sizeof scores);
    for (int row = 0; row < ahead->rows; row++) {
        int from = ahead->token_rows[row];
        assert_in_range(from + 1, 0, previous->rows);
        tokens[row] = from < 0 ? ahead->tokens[row] : previous->ids[from * previous->candidates];
        parents[row] = ahead->parents[row];
    }
    assert_int_equal(ahead->previous_rows, previous->rows);
    for (int i = 0; i < ahead->choice_count; i++) {
        const struct clf__beam_choice *choice = &ahead->choices[i];
        assert_true(choice->from_rows * choice->ranks <= CLF__CHOICE_CANDIDATES);
        toy_choose_beams(tokens, parents, scores, choice, previous,
                         choice->knows_scores ? ahead->previous_scores : previous_scores);
    }
    toy->calls_ahead++;
    return toy_step(toy, &filled);
}

/* Runs the step after the prepared one, if it can be prepared ahead, from candidates that the search does not
 * see yet. */
static inline clf_status toy_step_ahead(struct toy *toy, struct clf__search *search, struct clf__step *step)
{
    static int32_t ids[4 * TOY_CACHE_ROWS];
    static float values[4 * TOY_CACHE_ROWS], statistics[4 * TOY_CACHE_ROWS];
    assert_true(step->rows * step->candidates <= 4 * TOY_CACHE_ROWS);
    struct clf__step known = *step;
    size_t count = (size_t)(step->rows * step->candidates), rows = (size_t)step->rows;
    known.ids = memcpy(ids, step->ids, count * sizeof *ids);
    known.values = memcpy(values, step->values, count * sizeof *values);
    known.statistics = memcpy(statistics, step->statistics, 4 * rows * sizeof *statistics);
    memset(step->ids, 0x77, count * sizeof *ids);
    memset(step->values, 0x77, count * sizeof *values);
    memset(step->statistics, 0x77, 4 * rows * sizeof *statistics);
    struct clf__step *ahead = clf__search_prepare_ahead(search);
    clf_status status = ahead != NULL ? toy_run_ahead(toy, ahead, &known) : CLF_OK;
    memcpy(step->ids, ids, count * sizeof *ids);
    memcpy(step->values, values, count * sizeof *values);
    memcpy(step->statistics, statistics, 4 * rows * sizeof *statistics);
    return status;
}

static inline clf_status toy_run(struct toy *toy, struct clf__search *search)
{
    uint64_t allocations = clf__memory_count();
    while (toy->finished < toy->sources) {
        toy_admit(toy, search);
        struct clf__step *step = clf__search_prepare(search);
        if (step->rows > 0 && !step->is_ahead) {
            CLF__TRY(toy_step(toy, step));
        }
        CLF__TRY(toy->ahead ? toy_step_ahead(toy, search, step) : CLF_OK);
        clf__search_advance(search);
        toy_finish(toy, search);
        assert_true(clf__memory_count() == allocations); /* only its creation allocates */
    }
    assert_int_equal(toy->under_search, 0);
    return CLF_OK;
}

/* Searches all of the toy's sources, `slots` at a time; *result is empty on failure. */
static inline clf_status toy_search(struct toy_result *result, struct toy *toy, int slots)
{
    struct clf__search *search;
    *result = (struct toy_result){.sources = toy->sources};
    toy_make_room(toy, result, slots);
    CLF__TRY(clf__search_create(&search, &toy->limits));
    result->hypotheses =
        calloc((size_t)toy->sources * (size_t)result->n_best + 1, sizeof *result->hypotheses);
    assert_non_null(result->hypotheses);
    toy->result = result;
    memset(toy->occupants, -1, sizeof toy->occupants);
    clf_status status = toy_run(toy, search);
    clf__search_free(search);
    if (status != CLF_OK) {
        toy_result_free(result);
    }
    return status;
}

#endif
