/* Wrong options, a failing model and a failing allocator end a search with a sentence and without a leak; and
 * the model is asked no more than is needed. */
#include <stdio.h>

#include "search/toy.h"

static const int seeds[] = {3, 4, 5, 6};

static void assert_rejected(const struct clf__search_options *options, int sources, const char *part)
{
    struct toy toy = toy_for(&(struct clf__search_options){.beams = 1}, 0, seeds);
    struct clf__search_result result;
    assert_fails(clf__search_run(&result, options, sources, toy_step, &toy), CLF_BAD_ARGUMENT, part);
    assert_null(result.hypotheses);
    assert_int_equal(toy.calls, 0);
}

#define REJECT(change, part)                                                                                 \
    do {                                                                                                     \
        struct clf__search_options options = toy_options(10, 4, 2, 6);                                       \
        change;                                                                                              \
        assert_rejected(&options, 1, (part));                                                                \
    } while (0)

static void test_wrong_sizes(void **state)
{
    (void)state;
    REJECT(options.beams = 0, "beam size 0");
    REJECT(options.beams = CLF__SEARCH_BEAMS_LIMIT + 1, "2 candidates a beam and at most 256");
    REJECT(options.n_best = 0, "n-best 0");
    REJECT(options.n_best = 5, "n-best 5");
    REJECT(options.max_length = 0, "maximum length 0");
    REJECT(options.min_length = -1, "minimum length -1");
    REJECT(options.min_length = 7, "minimum length 7");
    REJECT(options.length_penalty = NAN, "length penalty");
    REJECT(options.length_penalty = INFINITY, "length penalty");
    REJECT(options.length_rule = (enum clf__length_rule)9, "length rule 9");
    REJECT(options.early_stopping = (enum clf__early_stopping)9, "early stopping 9");
    struct clf__search_options options = toy_options(10, 4, 2, 6);
    assert_rejected(&options, -1, "-1 sources");
    assert_rejected(&options, INT32_MAX, "translate fewer lines at once");
}

static void test_wrong_ids(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 10, -1, 7};
    static const int32_t one[] = {0, 1}, second_outside[] = {0, 2}, empty[] = {1, 1};
    REJECT(options.vocabulary = 0, "vocabulary of 0");
    REJECT(options.start_id = 10, "start id 10");
    REJECT(options.end_id = -1, "end id -1");
    REJECT(options.forced_first = 10, "forced first id 10");
    REJECT(options.forced_last = -2, "forced last id -2");
    REJECT((options.suppressed = ids, options.suppressed_count = 2), "suppressed id 10");
    REJECT((options.suppressed = ids + 2, options.suppressed_count = 1), "suppressed id -1");
    REJECT(options.suppressed_count = 1, "without a list");
    REJECT(options.suppressed_count = -1, "without a list");
    REJECT((options.suppressed = ids, options.suppressed_count = 1, options.forced_last = 5),
           "both the forced last one and suppressed");
    REJECT(options.bad_word_count = 1, "without a list");
    REJECT((options.bad_words = ids, options.bad_word_offsets = second_outside, options.bad_word_count = 1),
           "id 10 of bad word 1");
    REJECT((options.bad_words = ids + 2, options.bad_word_offsets = one, options.bad_word_count = 1),
           "id -1 of bad word 1");
    REJECT((options.bad_words = ids, options.bad_word_offsets = empty, options.bad_word_count = 1),
           "bad word 1 is empty");
}

/* Runs with the n-th call failing until there is none to fail; returns how many calls there are. */
static int fail_each_call(const struct clf__search_options *options)
{
    for (int n = 1;; n++) {
        struct toy toy = toy_for(options, 4, seeds);
        toy.fail_at = n;
        struct clf__search_result result;
        clf_status status = clf__search_run(&result, options, 4, toy_step, &toy);
        if (status == CLF_OK) {
            clf__search_result_free(&result);
            return n - 1;
        }
        assert_int_equal(status, CLF_DEVICE);
        assert_non_null(strstr(clf_last_error(), "was made to fail"));
        assert_int_equal(toy.calls, n);
        assert_null(result.hypotheses);
        clf__search_result_free(&result);
    }
}

static void test_each_step_fails(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 1, 1, 6);
    options.min_length = 6;
    assert_int_equal(fail_each_call(&options), 6);
    options.beams = 3;
    assert_int_equal(fail_each_call(&options), 6);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 3, 2, 6);
    for (uint64_t n = 1;; n++) {
        struct toy toy = toy_for(&options, 4, seeds);
        struct clf__search_result result;
        clf__memory_fail_at(n);
        clf_status status = clf__search_run(&result, &options, 4, toy_step, &toy);
        clf__memory_fail_at(0);
        if (status == CLF_OK) {
            assert_int_equal(n, 3); /* one block for the work, one for the result */
            clf__search_result_free(&result);
            break;
        }
        assert_int_equal(status, CLF_OUT_OF_MEMORY);
        assert_null(result.hypotheses);
    }
}

static void test_too_large_for_any_memory(void **state)
{
    (void)state;
    struct clf__search_options options = toy_options(12, 1, 1, INT32_MAX);
    struct toy toy = toy_for(&options, 4, seeds);
    struct clf__search_result result;
    assert_fails(clf__search_run(&result, &options, INT32_MAX - 1, toy_step, &toy), CLF_OUT_OF_MEMORY,
                 "searching 2147483646 sources");
    assert_int_equal(toy.calls, 0);
}

/* The calls that a search takes where nothing but forced tokens can end it before max_length. */
static int calls_of(int forced_first, int forced_last, int max_length, int sources)
{
    int calls = -1;
    for (int beams = 1; beams <= 4; beams += 3) {
        struct clf__search_options options = toy_options(12, beams, 1, max_length);
        options.min_length = max_length;
        options.forced_first = forced_first;
        options.forced_last = forced_last;
        struct toy toy = toy_for(&options, sources, seeds);
        struct clf__search_result result;
        assert_ok(clf__search_run(&result, &options, sources, toy_step, &toy));
        for (int i = 0; i < sources; i++) {
            const struct clf__hypothesis *hypothesis = &result.hypotheses[i];
            if (forced_first >= 0 && max_length > 1) {
                assert_int_equal(hypothesis->ids[0], forced_first);
            }
            if (forced_last >= 0 && hypothesis->length == max_length) {
                assert_int_equal(hypothesis->ids[max_length - 1], forced_last);
            }
        }
        clf__search_result_free(&result);
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
    assert_int_equal(calls_of(7, -1, 5, 4), 5);       /* what follows the first one needs its cache */
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
        cmocka_unit_test(test_wrong_ids),
        cmocka_unit_test(test_each_step_fails),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_too_large_for_any_memory),
        cmocka_unit_test(test_no_step_without_need),
    };
    return cmocka_run_group_tests_name("search/failures", tests, NULL, NULL);
}
