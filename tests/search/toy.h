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
    int fail_at; /* the call that fails; 0 = none */
    int nan_source,
        nan_position; /* all logits of this source are NaN from this position on; source -1 = none */
    /* Filled while it runs. */
    int calls, rows;
    uint64_t allocations; /* at the first call */
    uint32_t states[TOY_SLOTS];
    char live[TOY_SLOTS];
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

static inline void toy_check_step(struct toy *toy, const struct clf__step *step)
{
    int beams = toy->options->beams;
    int wanted = beams == 1 ? 1 : 2 * beams;
    assert_true(step->rows > 0);
    assert_true(step->rows <= toy->sources * beams);
    assert_int_equal(step->candidates, wanted < toy->vocabulary ? wanted : toy->vocabulary);
    assert_int_equal(step->banned_offsets[0], 0);
    for (int row = 0; row < step->rows; row++) {
        int source = step->sources[row];
        assert_in_range(source, 0, toy->sources - 1);
        assert_int_equal(step->positions[row], toy->calls);
        assert_int_equal(step->slots[row] / beams, source);
        assert_int_equal(step->parents[row] / beams, source);
        assert_true(row == 0 || step->slots[row] > step->slots[row - 1]);
        if (toy->calls == 0) {
            assert_int_equal(step->tokens[row], toy->options->start_id);
            assert_int_equal(step->parents[row], step->slots[row]);
            assert_true(row == 0 || source > step->sources[row - 1]);
        } else {
            assert_in_range(step->tokens[row], 0, toy->vocabulary - 1);
            assert_int_not_equal(step->tokens[row], toy->options->end_id);
            assert_true(toy->live[step->parents[row]]);
        }
        for (int i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
            assert_in_range(step->banned[i], 0, toy->vocabulary - 1);
            assert_true(i == step->banned_offsets[row] || step->banned[i] > step->banned[i - 1]);
        }
    }
}

static inline void toy_answer_row(const struct toy *toy, struct clf__step *step, int row)
{
    float logits[TOY_VOCABULARY];
    toy_logits(logits, toy, toy->states[step->slots[row]]);
    if (step->sources[row] == toy->nan_source && step->positions[row] >= toy->nan_position) {
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

static inline clf_status toy_step(void *context, struct clf__step *step)
{
    struct toy *toy = context;
    if (toy->calls == 0) {
        toy->allocations = clf__memory_count();
    }
    assert_true(clf__memory_count() == toy->allocations); /* no step allocates */
    toy_check_step(toy, step);
    uint32_t before[TOY_SLOTS];
    memcpy(before, toy->states, sizeof before);
    memset(toy->live, 0, sizeof toy->live);
    for (int row = 0; row < step->rows; row++) {
        uint32_t state =
            toy->calls == 0 ? toy_follow(0, toy->seeds[step->sources[row]]) : before[step->parents[row]];
        toy->states[step->slots[row]] = toy_follow(state, step->tokens[row]);
        toy->live[step->slots[row]] = 1;
    }
    for (int row = 0; row < step->rows; row++) {
        toy_answer_row(toy, step, row);
    }
    toy->calls++;
    toy->rows += step->rows;
    if (toy->calls == toy->fail_at) {
        return clf__fail(CLF_DEVICE, "toy: call %d was made to fail", toy->calls);
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
    assert_true(sources * options->beams <= TOY_SLOTS && options->vocabulary <= TOY_VOCABULARY);
    return (struct toy){.vocabulary = options->vocabulary,
                        .spread = 3,
                        .options = options,
                        .seeds = seeds,
                        .sources = sources,
                        .nan_source = -1};
}

#endif
