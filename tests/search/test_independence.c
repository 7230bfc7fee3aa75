/* A sentence gives equal hypotheses and scores, bit for bit, by itself and in any batch, whenever it was
 * admitted; and a long sentence does not delay others. */
#include <stdio.h>

#include "search/toy.h"

enum { SOURCES = 20 };

struct cost {
    int rows, longest;
};

/* Searches each source separately for the expected result of the batch. */
static struct cost search_alone(struct toy_result *expected, const struct toy *toy)
{
    const struct clf__search_options *options = toy->options;
    struct cost cost = {0};
    *expected = (struct toy_result){.sources = toy->sources, .n_best = options->n_best};
    expected->hypotheses =
        calloc((size_t)toy->sources * (size_t)options->n_best, sizeof *expected->hypotheses);
    assert_non_null(expected->hypotheses);
    for (int i = 0; i < toy->sources; i++) {
        struct toy single = toy_for(options, 1, toy->seeds + i);
        struct toy_result alone;
        single.end_bonus = toy->end_bonus;
        single.long_source = i == toy->long_source ? 0 : -1;
        assert_ok(toy_search(&alone, &single, 1));
        memcpy(expected->hypotheses + i * options->n_best, alone.hypotheses,
               (size_t)options->n_best * sizeof *alone.hypotheses);
        free(alone.hypotheses); /* the expected results own the ids now */
        cost.rows += single.rows;
        cost.longest = single.calls > cost.longest ? single.calls : cost.longest;
    }
    return cost;
}

static int can_be_ahead(const struct clf__search_options *options)
{
    return options->groups < 2 && !options->sampling.is_on && options->repetition_penalty == 1.0f &&
           options->coverage_penalty == 0.0 && options->bad_word_count < 2 &&
           (options->beams == 1 ||
            (options->early_stopping != CLF__STOP_ALL && options->early_stopping != CLF__STOP_SHRINK));
}

/* Searches the batch with enough slots for all, and with fewer: admitting into each free slot, two at a time,
 * at random times, and at random times with steps that are prepared ahead. */
static void check_batch(const struct clf__search_options *options, const int *seeds, int sources)
{
    struct toy toy = toy_for(options, sources, seeds);
    toy.end_bonus = 4;
    struct toy_result expected, result;
    struct cost cost = search_alone(&expected, &toy);
    for (int slots = sources; slots > 0; slots = slots * 2 / 3) {
        for (int way = 0; way < 4; way++) {
            struct toy together = toy;
            together.admit_most = way == 1 ? 2 : 0;
            together.admit_at_times = way >= 2 ? (uint32_t)slots : 0;
            together.ahead = way == 3;
            assert_ok(toy_search(&result, &together, slots));
            toy_assert_same(result.hypotheses, expected.hypotheses, sources * options->n_best);
            /* A finished source takes no rows, whatever the batch, except one row in a step ahead. */
            assert_in_range(together.rows, cost.rows, cost.rows + (way == 3 ? sources * options->beams : 0));
            assert_true((together.calls_ahead > 0) == (way == 3 && can_be_ahead(options)));
            assert_true(way > 0 || slots < sources || together.calls == cost.longest);
            toy_result_free(&result);
        }
    }
    toy_result_free(&expected);
}

static void test_alone_and_in_a_batch(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 4, 5};
    static const int32_t suppressed[] = {9, 3, 9}, bad_words[] = {4, 5, 6, 7, 3}, offsets[] = {0, 2, 4, 5},
                         single[] = {0, 1};
    int seeds[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        seeds[i] = 7 * i + 1;
    }
    for (int w = 0; w < 4; w++) {
        for (int stop = CLF__STOP_FALSE; stop <= CLF__STOP_CTRANSLATE2; stop++) {
            struct clf__search_options options = toy_options(20, widths[w], widths[w], 14);
            options.early_stopping = (enum clf__early_stopping)stop;
            options.patience = 1.5;
            options.renormalize = stop == CLF__STOP_TRUE;
            options.forced_last = TOY_END;
            options.min_length = 3;
            options.suppressed = suppressed;
            options.suppressed_count = 3;
            options.bad_words = bad_words;
            options.bad_word_offsets = offsets;
            options.bad_word_count = 3;
            check_batch(&options, seeds, SOURCES);
            options.bad_words = bad_words + 4; /* a single id */
            options.bad_word_count = 1;
            options.bad_word_offsets = single;
            check_batch(&options, seeds, SOURCES);
            options.repetition_penalty = 1.2f;
            options.coverage_penalty = stop == CLF__STOP_ALL ? 0.0 : 0.7;
            check_batch(&options, seeds + 3, 5);
        }
    }
}

static void test_groups_alone_and_in_a_batch(void **state)
{
    (void)state;
    int seeds[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        seeds[i] = 13 * i + 5;
    }
    for (int way = 0; way < 6; way++) {
        struct clf__search_options options = toy_options(20, way < 3 ? 4 : 3, way < 3 ? 4 : 3, 12);
        options.groups = way < 3 ? 2 : 3;
        options.diversity_penalty = 0.9f;
        options.early_stopping = (enum clf__early_stopping)(way % 3);
        options.renormalize = way % 2;
        options.repetition_penalty = way % 3 == 1 ? 1.3f : 1.0f;
        options.coverage_penalty = way == 2 ? 0.4 : 0.0;
        check_batch(&options, seeds, SOURCES);
    }
}

/* Samples, and sampled beams. */
static void test_sampling_alone_and_in_a_batch(void **state)
{
    (void)state;
    int seeds[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        seeds[i] = 11 * i + 3;
    }
    for (int beams = 1; beams <= 3; beams++) {
        struct clf__search_options options = toy_options(20, beams, beams == 1 ? 6 : beams, 14);
        options.sampling.is_on = 1;
        options.sampling.top_p = 0.95f;
        options.sampling.seed = 77;
        options.repetition_penalty = beams == 2 ? 1.2f : 1.0f;
        options.coverage_penalty = beams == 1 ? 0.3 : 0.0;
        check_batch(&options, seeds, SOURCES);
    }
}

static void test_a_source_with_nan_disturbs_no_other(void **state)
{
    (void)state;
    static const int seeds[] = {11, 12, 13};
    for (int way = 0; way < 4; way++) {
        int beams = way == 0 || way == 3 ? 1 : 4;
        for (int position = 0; position < 4; position++) {
            struct clf__search_options options = toy_options(20, beams, beams, 6);
            options.early_stopping = way == 2 ? CLF__STOP_ALL : CLF__STOP_FALSE;
            options.min_length = 5; /* so that nothing has ended when the NaN begin */
            options.coverage_penalty = way >= 2 ? 0.0 : 1.0;
            struct toy healthy = toy_for(&options, 3, seeds), ill = healthy;
            ill.ahead = way == 3;
            ill.nan_source = 1;
            ill.nan_position = position;
            struct toy_result expected, result;
            assert_ok(toy_search(&expected, &healthy, 3));
            assert_ok(toy_search(&result, &ill, 2));
            assert_true((ill.calls_ahead > 0) == (way == 3));
            toy_assert_same(result.hypotheses, expected.hypotheses, beams);
            toy_assert_same(result.hypotheses + 2 * beams, expected.hypotheses + 2 * beams, beams);
            for (int i = 0; i < beams; i++) { /* partial hypotheses are not a result */
                assert_int_equal(result.hypotheses[beams + i].length, 0);
            }
            toy_result_free(&expected);
            toy_result_free(&result);
        }
    }
}

/* One source of 60 tokens and 400 short ones on 8 slots: static batches of 8 would each take as long as their
   longest source. */
static void test_a_long_source_holds_up_no_other(void **state)
{
    (void)state;
    enum { LINES = 401, SLOTS = 8, LONGEST = 60 };
    int seeds[LINES];
    for (int i = 0; i < LINES; i++) {
        seeds[i] = 3 * i + 2;
    }
    struct clf__search_options options = toy_options(20, 1, 1, LONGEST);
    struct toy toy = toy_for(&options, LINES, seeds);
    toy.end_bonus = 5;
    toy.long_source = 5;
    struct toy_result expected, result;
    search_alone(&expected, &toy);
    assert_ok(toy_search(&result, &toy, SLOTS));
    toy_assert_same(result.hypotheses, expected.hypotheses, LINES);
    int tokens = 0, by_batches = 0;
    for (int first = 0; first < LINES; first += SLOTS) {
        int longest = 0;
        for (int i = first; i < LINES && i < first + SLOTS; i++) {
            int length = result.hypotheses[i].length;
            tokens += length;
            longest = length > longest ? length : longest;
        }
        by_batches += longest;
    }
    print_message("%d tokens in %d steps; in batches of %d that wait for their longest: %d steps\n", tokens,
                  toy.calls, SLOTS, by_batches);
    assert_int_equal(result.hypotheses[5].length, LONGEST);
    assert_int_equal(toy.rows, tokens); /* greedy: one row per token */
    /* Every step is full until too few sources remain, at the latest LONGEST steps before the end. */
    assert_true(toy.calls <= tokens / SLOTS + LONGEST);
    assert_true(toy.calls * 4 < by_batches * 3);
    toy_result_free(&expected);
    toy_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_in_a_batch),
        cmocka_unit_test(test_groups_alone_and_in_a_batch),
        cmocka_unit_test(test_sampling_alone_and_in_a_batch),
        cmocka_unit_test(test_a_source_with_nan_disturbs_no_other),
        cmocka_unit_test(test_a_long_source_holds_up_no_other),
    };
    return cmocka_run_group_tests_name("search/independence", tests, NULL, NULL);
}
