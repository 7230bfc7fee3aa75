/* A sentence gives the same hypotheses, to the last bit of their scores, alone and in any batch. */
#include <stdio.h>

#include "search/toy.h"

enum { SOURCES = 20 };

static void assert_same(const struct clf__hypothesis *a, const struct clf__hypothesis *b, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(a[i].length, b[i].length);
        assert_memory_equal(a[i].ids, b[i].ids, (size_t)a[i].length * sizeof *a[i].ids);
        assert_memory_equal(&a[i].score, &b[i].score, sizeof a[i].score);
        assert_memory_equal(&a[i].log_probability, &b[i].log_probability, sizeof a[i].log_probability);
    }
}

/* Searches the batch, then each source alone; returns how many sources ended before the last one. */
static int check_batch(const struct clf__search_options *options, const int *seeds, int sources)
{
    struct toy together = toy_for(options, sources, seeds);
    together.end_bonus = 4;
    struct clf__search_result batch, alone;
    assert_ok(clf__search_run(&batch, options, sources, toy_step, &together));
    int rows = 0, calls = 0, early = 0;
    for (int i = 0; i < sources; i++) {
        struct toy single = toy_for(options, 1, seeds + i);
        single.end_bonus = 4;
        assert_ok(clf__search_run(&alone, options, 1, toy_step, &single));
        assert_same(alone.hypotheses, batch.hypotheses + i * options->n_best, options->n_best);
        clf__search_result_free(&alone);
        rows += single.rows;
        calls = single.calls > calls ? single.calls : calls;
        early += single.calls < together.calls;
    }
    /* A source that is done takes no rows, and the batch takes no step after its last source. */
    assert_int_equal(together.rows, rows);
    assert_int_equal(together.calls, calls);
    clf__search_result_free(&batch);
    return early;
}

static void test_alone_and_in_a_batch(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 4, 5};
    static const int32_t suppressed[] = {9, 3, 9}, bad_words[] = {4, 5, 6, 7, 3}, offsets[] = {0, 2, 4, 5};
    int seeds[SOURCES], early = 0;
    for (int i = 0; i < SOURCES; i++) {
        seeds[i] = 7 * i + 1;
    }
    for (int w = 0; w < 4; w++) {
        for (int stop = CLF__STOP_FALSE; stop <= CLF__STOP_NEVER; stop++) {
            struct clf__search_options options = toy_options(20, widths[w], widths[w], 14);
            options.early_stopping = (enum clf__early_stopping)stop;
            options.renormalize = stop == CLF__STOP_TRUE;
            options.forced_last = TOY_END;
            options.min_length = 3;
            options.suppressed = suppressed;
            options.suppressed_count = 3;
            options.bad_words = bad_words;
            options.bad_word_offsets = offsets;
            options.bad_word_count = 3;
            early += check_batch(&options, seeds, SOURCES);
            early += check_batch(&options, seeds + 3, 5);
        }
    }
    assert_true(early > 50); /* else ending at different times was not tested */
}

static void test_a_source_with_nan_disturbs_no_other(void **state)
{
    (void)state;
    static const int seeds[] = {11, 12, 13};
    for (int beams = 1; beams <= 4; beams += 3) {
        for (int position = 0; position < 4; position++) {
            struct clf__search_options options = toy_options(20, beams, beams, 6);
            options.min_length = 5; /* so that nothing has ended where the NaN begin */
            struct toy healthy = toy_for(&options, 3, seeds), ill = healthy;
            ill.nan_source = 1;
            ill.nan_position = position;
            struct clf__search_result expected, result;
            assert_ok(clf__search_run(&expected, &options, 3, toy_step, &healthy));
            assert_ok(clf__search_run(&result, &options, 3, toy_step, &ill));
            assert_same(result.hypotheses, expected.hypotheses, beams);
            assert_same(result.hypotheses + 2 * beams, expected.hypotheses + 2 * beams, beams);
            /* What there was before is the outcome. */
            const struct clf__hypothesis *cut = result.hypotheses + beams;
            assert_int_equal(cut[0].length, position);
            if (position > 0) {
                assert_true(isfinite(cut[0].score) && isfinite(cut[0].log_probability));
            } else { /* nothing was begun, and that must not look certain */
                assert_true(isinf(cut[0].score) && isinf(cut[0].log_probability));
            }
            for (int i = 1; i < beams; i++) {
                assert_int_equal(cut[i].length, position);
                assert_true(position > 0 ? cut[i].score <= cut[i - 1].score : cut[i].score == -INFINITY);
            }
            clf__search_result_free(&expected);
            clf__search_result_free(&result);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_in_a_batch),
        cmocka_unit_test(test_a_source_with_nan_disturbs_no_other),
    };
    return cmocka_run_group_tests_name("search/independence", tests, NULL, NULL);
}
