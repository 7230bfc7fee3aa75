/* A model without weights for the tests of search: the logit of an id is a hash of the source, the tokens
 * before it and the id, as in tests/fixtures/search/make_search_cases.py. Its step keeps a history a slot, as
 * a cache does, and checks what search.h promises of a step. */
#ifndef CLF_TESTS_SEARCH_TOY_H
#define CLF_TESTS_SEARCH_TOY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/search.h"
#include "support/support.h"

enum { TOY_SLOTS = 1024, TOY_VOCABULARY = 64, TOY_END = 0, TOY_START = 1 };

struct toy {
    int vocabulary, spread, end_bonus;
    const struct clf__search_options *options;
    const int *seeds; /* one a source */
    int sources;
    int places;         /* set by toy_search() */
    int fail_at;        /* the step that fails; 0 = none */
    int fail_to_admit;  /* sources that come in later than the first ones fail */
    int fail_to_finish; /* the result that fails; 0 = none */
    int nan_source,
        nan_position;        /* all logits of this source are NaN from this position on; source -1 = none */
    int admit_most;          /* sources that come in at a time; 0: all that may */
    uint32_t admit_at_times; /* not 0: the seed of a choice of how many come in, none among them */
    int long_source;         /* this one never ends by itself; -1 = none */
    /* Filled while it runs. */
    struct toy_result *result;
    int admissions, calls, rows;
    int admitted, under_search, finished;
    uint64_t allocations; /* at the first call */
    int occupants[TOY_SLOTS];
    uint32_t states[TOY_SLOTS];
    int positions[TOY_SLOTS]; /* what a slot has seen; -1: nothing of its occupant */
};

/* What was found: n_best hypotheses a source, of source s at [s * n_best]. */
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
        units += id == TOY_END ? toy->end_bonus * (1 << 17) : 0;
        logits[id] = (float)units / (1 << 17);
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
        sum += logits[i] > -INFINITY ? exp((double)logits[i] - max) : 0.0;
    }
    statistics[0] = max;
    statistics[1] = (float)log(sum);
}

static inline void toy_check_row(const struct toy *toy, const struct clf__step *step, int row)
{
    int beams = toy->options->beams;
    int place = step->places[row], position = step->positions[row];
    int slot = step->slots[row], parent = step->parents[row];
    assert_in_range(place, 0, toy->places - 1);
    assert_in_range(toy->occupants[place], 0, toy->sources - 1);
    assert_int_equal(slot / beams, place);
    assert_int_equal(parent / beams, place);
    assert_true(row == 0 || slot > step->slots[row - 1]);
    if (position == 0) {
        assert_int_equal(step->tokens[row], toy->options->start_id);
        assert_int_equal(parent, slot);
        assert_int_equal(slot, place * beams);
        assert_int_equal(toy->positions[slot], -1);
    } else {
        assert_in_range(step->tokens[row], 0, toy->vocabulary - 1);
        assert_true(step->tokens[row] != toy->options->end_id ||
                    toy->options->early_stopping == CLF__STOP_ALL);
        assert_int_equal(toy->positions[parent], position - 1);
    }
    for (int i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
        assert_in_range(step->banned[i], 0, toy->vocabulary - 1);
        assert_true(i == step->banned_offsets[row] || step->banned[i] > step->banned[i - 1]);
    }
}

static inline void toy_check_step(const struct toy *toy, const struct clf__step *step)
{
    int beams = toy->options->beams;
    int wanted = beams == 1 ? 1 : 2 * beams;
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
    int source = toy->occupants[step->places[row]];
    toy_logits(logits, toy, toy->states[step->slots[row]]);
    if (source == toy->long_source) {
        logits[TOY_END] = -1000.0f;
    }
    if (source == toy->nan_source && step->positions[row] >= toy->nan_position) {
        for (int id = 0; id < toy->vocabulary; id++) {
            logits[id] = -INFINITY; /* what the top k makes of a NaN */
        }
    }
    float *statistics = step->statistics + 4 * row;
    statistics[0] = statistics[1] = NAN;
    if (step->both_statistics) {
        toy_statistics(statistics, logits, toy->vocabulary);
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

/* How many of `count` sources come in now. */
static inline int toy_choose(struct toy *toy, int count)
{
    if (toy->admit_at_times != 0) {
        toy->admit_at_times = toy_follow(toy->admit_at_times, count);
        int chosen = (int)(toy->admit_at_times % (uint32_t)(count + 1));
        return chosen == 0 && toy->under_search == 0 ? 1 : chosen;
    }
    return toy->admit_most > 0 && toy->admit_most < count ? toy->admit_most : count;
}

static inline clf_status toy_admit(void *context, int first, const int *places, int count, int *admitted)
{
    struct toy *toy = context;
    int beams = toy->options->beams;
    assert_int_equal(first, toy->admitted);
    assert_in_range(count, 1, toy->sources - first);
    assert_true(toy->under_search + count <= toy->places);
    *admitted = toy_choose(toy, count);
    for (int i = 0; i < *admitted; i++) {
        assert_in_range(places[i], 0, toy->places - 1);
        assert_int_equal(toy->occupants[places[i]], -1);
        toy->occupants[places[i]] = first + i;
        for (int slot = places[i] * beams; slot < (places[i] + 1) * beams; slot++) {
            toy->positions[slot] = -1;
        }
    }
    toy->admitted += *admitted;
    toy->under_search += *admitted;
    toy->admissions += *admitted > 0;
    if (toy->fail_to_admit && first > 0) {
        return clf__fail(CLF_DEVICE, "toy: source %d was made to fail", first);
    }
    return CLF_OK;
}

static inline clf_status toy_step(void *context, struct clf__step *step)
{
    struct toy *toy = context;
    if (toy->calls == 0) {
        toy->allocations = clf__memory_count();
    }
    assert_true(clf__memory_count() == toy->allocations); /* no step allocates */
    toy_check_step(toy, step);
    uint32_t states[TOY_SLOTS];
    memcpy(states, toy->states, sizeof states);
    for (int row = 0; row < step->rows; row++) {
        int slot = step->slots[row];
        uint32_t state = step->positions[row] == 0
                             ? toy_follow(0, toy->seeds[toy->occupants[step->places[row]]])
                             : states[step->parents[row]];
        toy->states[slot] = toy_follow(state, step->tokens[row]);
    }
    for (int row = 0; row < step->rows; row++) {
        toy->positions[step->slots[row]] = step->positions[row];
        toy_answer_row(toy, step, row);
    }
    toy->calls++;
    toy->rows += step->rows;
    if (toy->calls == toy->fail_at) {
        return clf__fail(CLF_DEVICE, "toy: call %d was made to fail", toy->calls);
    }
    return CLF_OK;
}

static inline clf_status toy_finish(void *context, int source, int place,
                                    const struct clf__hypothesis *hypotheses)
{
    struct toy *toy = context;
    assert_in_range(place, 0, toy->places - 1);
    assert_int_equal(toy->occupants[place], source);
    toy->occupants[place] = -1;
    toy->under_search--;
    toy->finished++;
    for (int i = 0; i < toy->options->n_best; i++) {
        struct clf__hypothesis *kept = &toy->result->hypotheses[source * toy->options->n_best + i];
        size_t bytes = (size_t)hypotheses[i].length * sizeof(int32_t);
        int32_t *ids = malloc(bytes + 1);
        assert_non_null(ids);
        assert_null(kept->ids); /* no source is done twice */
        memcpy(ids, hypotheses[i].ids, bytes);
        *kept = hypotheses[i];
        kept->ids = ids;
    }
    if (toy->finished == toy->fail_to_finish) {
        return clf__fail(CLF_DEVICE, "toy: result %d was made to fail", toy->finished);
    }
    return CLF_OK;
}

/* Options that ask for nothing special. */
static inline struct clf__search_options toy_options(int vocabulary, int beams, int n_best, int max_length)
{
    return (struct clf__search_options){.beams = beams,
                                        .n_best = n_best,
                                        .vocabulary = vocabulary,
                                        .start_id = TOY_START,
                                        .end_id = TOY_END,
                                        .max_length = max_length,
                                        .length_penalty = 1.0,
                                        .forced_first = -1,
                                        .forced_last = -1};
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

/* Searches all of the toy's sources, so many at a time; *result is empty on failure. */
static inline clf_status toy_search(struct toy_result *result, struct toy *toy, int places)
{
    const struct clf__search_options *options = toy->options;
    const struct clf__search_model model = {
        .context = toy, .admit = toy_admit, .step = toy_step, .finish = toy_finish};
    size_t count = (size_t)toy->sources * (size_t)options->n_best;
    *result = (struct toy_result){.sources = toy->sources, .n_best = options->n_best};
    result->hypotheses = calloc(count + 1, sizeof *result->hypotheses);
    assert_non_null(result->hypotheses);
    toy->result = result;
    toy->places = places;
    assert_true(places * options->beams <= TOY_SLOTS);
    memset(toy->occupants, -1, sizeof toy->occupants);
    clf_status status = clf__search_run(options, toy->sources, places, &model);
    if (status != CLF_OK) {
        toy_result_free(result);
        return status;
    }
    assert_int_equal(toy->finished, toy->sources);
    assert_int_equal(toy->under_search, 0);
    return CLF_OK;
}

#endif
