/* Wrong options, a search without memory, a failing model and a failing allocator: an error message and no
 * leak; and the model is not called more often than needed. */
#include <stdio.h>

#include "search/toy.h"

static const int seeds[] = {3, 4, 5, 6};

#define REJECT(change, part)                                                                                 \
    do {                                                                                                     \
        struct clf__search_options options = toy_options(10, 4, 2, 6);                                       \
        change;                                                                                              \
        assert_fails(clf__search_check(&options), CLF_BAD_ARGUMENT, (part));                                 \
    } while (0)

static void test_wrong_prompt(void **state)
{
    (void)state;
    static const int32_t prompt[] = {3, 4, TOY_END};
    REJECT((options.prefix_is_prompt = 1, options.prefix = prompt, options.prefix_count = 3), "is an end id");
    REJECT((options.prefix_is_prompt = 1, options.prefix = prompt, options.prefix_count = 2,
            options.max_length = 2),
           "reach the maximum length");
}

#define REJECT_SAMPLING(change, part)                                                                        \
    REJECT((options.beams = options.n_best = options.sampling.is_on = 1, change), part)

static void test_wrong_sampling(void **state)
{
    (void)state;
    REJECT_SAMPLING(options.sampling.temperature = 0.0f,
                    "temperature: 0 is out of range; use a value above 0, or do not set it without sampling");
    REJECT_SAMPLING(options.sampling.temperature = NAN, "temperature: nan");
    REJECT_SAMPLING(options.sampling.top_k = -1, "top k: -1");
    REJECT_SAMPLING(options.sampling.top_p = 1.5f, "top p: 1.5 is out of range; use 0 to 1");
    REJECT_SAMPLING(options.sampling.min_p = -0.5f, "min p: -0.5");
    REJECT_SAMPLING(options.sampling.typical_p = 0.0f,
                    "typical p: 0 is out of range; use a value above 0, at most 1");
    REJECT_SAMPLING(options.sampling.epsilon_cutoff = 2.0f, "epsilon cutoff: 2");
    REJECT_SAMPLING(options.sampling.eta_cutoff = NAN, "eta cutoff: nan");
    REJECT_SAMPLING(options.n_best = 129, "1 to 128 samples");
    REJECT_SAMPLING(options.early_stopping = CLF__STOP_ALL, "cannot be combined with sampling");
    struct clf__search_options options = toy_options(10, 4, 2, 6);
    options.sampling.temperature = 0.0f;
    assert_ok(clf__search_check(&options)); /* no effect without sampling */
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    REJECT(options.beams = 0, "beam size: 0");
    REJECT(options.beams = CLF__SEARCH_BEAMS_LIMIT + 1, "use 1 (greedy) to 128");
    REJECT(options.n_best = 0, "n-best: 0");
    REJECT(options.n_best = 5, "n-best: 5");
    REJECT(options.max_length = 0, "maximum length: 0");
    REJECT(options.min_length = -1, "minimum length: -1");
    REJECT(options.min_length = 7, "minimum length: 7");
    REJECT(options.length_penalty = NAN, "length penalty");
    REJECT(options.length_penalty = INFINITY, "length penalty");
    REJECT((options.early_stopping = CLF__STOP_CTRANSLATE2, options.patience = 0.0), "patience: 0 is out");
    REJECT((options.early_stopping = CLF__STOP_CTRANSLATE2, options.patience = 0.3, options.n_best = 2),
           "n-best: 2 is more than beam size 4 times patience 0.3");
    REJECT(options.repetition_penalty = 0.0f, "repetition penalty 0");
    REJECT(options.decay_factor = 0.0f, "factor 0");
    REJECT(options.decay_start = -1, "start -1");
    REJECT(options.repetition_penalty = NAN, "repetition penalty");
    REJECT(options.source_repetition_penalty = -1.0f, "encoder repetition penalty -1");
    REJECT(options.coverage_penalty = NAN, "coverage penalty: nan");
    REJECT((options.coverage_penalty = 1.0, options.memory_limit = 0),
           "coverage penalty: the limit of 0 source positions must be 1 or more");
    REJECT((options.coverage_penalty = 1.0, options.early_stopping = CLF__STOP_ALL),
           "\"all\" cannot be combined with a coverage penalty");
    REJECT(options.length_rule = (enum clf__length_rule)9, "length rule: unknown value 9");
    REJECT(options.early_stopping = (enum clf__early_stopping)9, "early stopping: unknown value 9");
    struct clf__search_options options = toy_options(10, 4, 2, 6);
    struct clf__search_limits limits = clf__search_limits_for(&options, INT32_MAX);
    struct clf__search *search;
    assert_fails(clf__search_create(&search, &limits), CLF_BAD_ARGUMENT, "translate fewer lines at once");
    assert_null(search);
}

static void test_no_room(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 6};
    struct clf__search_options options = toy_options(10, 4, 2, 6), other;
    struct clf__search_limits limits = clf__search_limits_for(&options, 1);
    struct clf__search *search;
    assert_ok(clf__search_create(&search, &limits));
    other = options, other.beams = 5;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "too few for 5 beams");
    other = options, other.max_length = 7;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "4 beams, 7 tokens");
    other = options, other.vocabulary = 9;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "a vocabulary of 9");
    other = options, other.suppressed = ids, other.suppressed_count = 2;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "3 banned ids");
    other = options, other.coverage_penalty = 1.0;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "too few for");
    other = options, other.n_best = 0;
    assert_fails(clf__search_add(search, 0, &other, 0), CLF_BAD_ARGUMENT, "n-best: 0");
    assert_true(clf__search_is_free(search, 0)); /* as if nothing had happened */
    assert_int_equal(clf__search_prepare(search)->rows, 0);
    assert_ok(clf__search_add(search, 0, &options, 0));
    assert_false(clf__search_is_free(search, 0));
    clf__search_free(search);
}

static void test_wrong_ids(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 10, -1, 7};
    static const int32_t one[] = {0, 1}, second_outside[] = {0, 2}, empty[] = {1, 1};
    REJECT(options.vocabulary = 0, "vocabulary: the size 0");
    REJECT(options.start_id = 10, "start id 10");
    REJECT(options.end_id = -1, "end id -1");
    REJECT((options.prefix = ids, options.prefix_count = 2), "forced first id: 10");
    REJECT((options.prefix = ids, options.prefix_count = 7),
           "prefix: 7 ids are out of range; use a list of at most 6");
    REJECT(options.prefix_count = 1, "prefix: 1 ids are out of range");
    REJECT((options.prefix = ids, options.prefix_count = 1, options.suppressed = ids,
            options.suppressed_count = 1),
           "both suppressed and the forced first id");
    REJECT(options.forced_last = -2, "forced last id: -2");
    REJECT((options.suppressed = ids, options.suppressed_count = 2), "suppressed id: 10");
    REJECT((options.suppressed = ids + 2, options.suppressed_count = 1), "suppressed id: -1");
    REJECT(options.suppressed_count = 1, "there is no list");
    REJECT(options.suppressed_count = -1, "there is no list");
    REJECT((options.suppressed = ids, options.suppressed_count = 1, options.forced_last = 5),
           "both suppressed and the forced last id");
    REJECT(options.bad_word_count = 1, "there is no list");
    REJECT((options.bad_words = ids, options.bad_word_offsets = second_outside, options.bad_word_count = 1),
           "id 10 of bad word 1");
    REJECT((options.bad_words = ids + 2, options.bad_word_offsets = one, options.bad_word_count = 1),
           "id -1 of bad word 1");
    REJECT((options.bad_words = ids, options.bad_word_offsets = empty, options.bad_word_count = 1),
           "bad word 1: is empty; use at least 1 id");
}

/* Runs with the n-th step failing until none fails; returns the number of steps. */
static int fail_each_step(const struct clf__search_options *options, int slots)
{
    for (int n = 1;; n++) {
        struct toy toy = toy_for(options, 4, seeds);
        toy.fail_at = n;
        struct toy_result result;
        clf_status status = toy_search(&result, &toy, slots);
        if (status == CLF_OK) {
            toy_result_free(&result);
            return n - 1;
        }
        assert_int_equal(status, CLF_DEVICE);
        assert_non_null(strstr(clf_last_error(), "was made to fail"));
        assert_int_equal(toy.calls, n);
    }
}

static void test_each_step_fails(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 1, 1, 6);
    options.min_length = 6;
    assert_int_equal(fail_each_step(&options, 4), 6);
    assert_int_equal(fail_each_step(&options, 3), 12);
    assert_int_equal(fail_each_step(&options, 1), 24);
    options.beams = 3;
    assert_int_equal(fail_each_step(&options, 4), 6);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 3, 2, 6);
    struct toy toy = toy_for(&options, 4, seeds);
    struct toy_result result;
    clf__memory_fail_at(1);
    clf_status status = toy_search(&result, &toy, 4);
    clf__memory_fail_at(0);
    assert_int_equal(status, CLF_OUT_OF_MEMORY);
    assert_int_equal(toy.calls, 0);
    toy = toy_for(&options, 4, seeds);
    clf__memory_fail_at(2); /* one block is all */
    status = toy_search(&result, &toy, 2);
    clf__memory_fail_at(0);
    assert_int_equal(status, CLF_OK);
    toy_result_free(&result);
}

static void test_too_large_for_any_memory(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 1, 1, INT32_MAX);
    struct clf__search_limits limits = clf__search_limits_for(&options, INT32_MAX - 1);
    struct clf__search *search;
    assert_fails(clf__search_create(&search, &limits), CLF_OUT_OF_MEMORY,
                 "searching 2147483646 sources at a time");
}

/* Returns the number of model calls if only forced tokens can end a search before max_length. */
static int calls_of(int32_t forced_first, int forced_last, int max_length, int sources)
{
    int calls = -1;
    for (int beams = 1; beams <= 4; beams += 3) {
        struct clf__search_options options = toy_options(12, beams, 1, max_length);
        options.min_length = max_length;
        options.prefix = &forced_first;
        options.prefix_count = forced_first >= 0;
        options.forced_last = forced_last;
        struct toy toy = toy_for(&options, sources, seeds);
        struct toy_result result;
        assert_ok(toy_search(&result, &toy, 4));
        for (int i = 0; i < sources; i++) {
            const struct clf__hypothesis *hypothesis = &result.hypotheses[i];
            if (forced_first >= 0 && max_length > 1) {
                assert_int_equal(hypothesis->ids[0], forced_first);
            }
            if (forced_last >= 0 && hypothesis->length == max_length) {
                assert_int_equal(hypothesis->ids[max_length - 1], forced_last);
            }
        }
        toy_result_free(&result);
        assert_true(calls == -1 || toy.calls == calls);
        calls = toy.calls;
    }
    return calls;
}

static void test_no_step_without_need(void **state)
{
    (void)state;
    assert_int_equal(calls_of(-1, -1, 5, 4), 5);
    assert_int_equal(calls_of(-1, TOY_END, 5, 4), 4); /* nothing follows the last token */
    assert_int_equal(calls_of(7, -1, 5, 4), 5);       /* the token after the first one needs its cache */
    assert_int_equal(calls_of(7, TOY_END, 5, 4), 4);
    assert_int_equal(calls_of(7, TOY_END, 1, 4), 0);
    assert_int_equal(calls_of(7, -1, 1, 4), 0);
    assert_int_equal(calls_of(TOY_END, -1, 5, 4), 0);
    assert_int_equal(calls_of(-1, -1, 5, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_wrong_sampling),
        cmocka_unit_test(test_wrong_prompt),
        cmocka_unit_test(test_wrong_ids),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_each_step_fails),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_too_large_for_any_memory),
        cmocka_unit_test(test_no_step_without_need),
    };
    return cmocka_run_group_tests_name("search/failures", tests, NULL, NULL);
}
