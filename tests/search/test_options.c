/* Every source is searched with separate options, independent of other sources and admission times; and the
 * effect of options on the score processors. */
#include <stdio.h>

#include "search/toy.h"

enum { SOURCES = 12 };

static const int32_t suppressed[] = {9, 3, 9}, bad_words[] = {4, 5, 6, 7, 3}, offsets[] = {0, 2, 4, 5};
static const int32_t prefix[] = {5, 2, 5, 7};

/* Options that vary between sources in everything that a search may choose. */
static void make_options(struct clf__search_options *options)
{
    static const int widths[] = {1, 4, 2, 5, 1, 3};
    static const enum clf__length_rule rules[] = {CLF__LENGTH_GNMT, CLF__LENGTH_HUGGINGFACE,
                                                  CLF__LENGTH_NONE};
    for (int i = 0; i < SOURCES; i++) {
        int beams = widths[i % 6];
        options[i] = toy_options(20, beams, 1 + i % beams, 4 + 5 * i % 13);
        options[i].length_rule = rules[i % 3];
        options[i].length_penalty = 0.3 * i;
        options[i].early_stopping = (enum clf__early_stopping)(i % 4);
        options[i].renormalize = i / 2 % 2;
        options[i].min_length = i % 5;
        options[i].prefix = prefix;
        options[i].prefix_count = i % 3 == 2 ? 2 + i % 2 : 0;
        options[i].forced_last = i % 4 == 1 ? TOY_END : -1;
        options[i].suppressed = suppressed;
        options[i].suppressed_count = i % 2 == 1 ? 3 : 0;
        options[i].repetition_penalty = i % 4 < 2 ? 1.0f : 1.0f + 0.1f * (float)i;
        options[i].sampling.is_on = i % 6 == 4 || i == 7;
        options[i].sampling.top_k = 7;
        options[i].sampling.seed = (uint64_t)i;
        options[i].n_best = i % 6 == 4 ? 4 : options[i].n_best;
        options[i].early_stopping = i == 7 ? CLF__STOP_FALSE : options[i].early_stopping;
        options[i].groups = beams == 4 && i != 7 ? 2 : 1;
        options[i].diversity_penalty = 0.8f;
        options[i].bad_words = bad_words;
        options[i].bad_word_offsets = offsets;
        options[i].bad_word_count = i % 4;
        options[i].coverage_penalty = i % 3 == 1 && options[i].early_stopping != CLF__STOP_ALL ? 0.5 : 0.0;
    }
}

/* With all slots and with fewer; one source is admitted before each step, or at random times. */
static void test_each_source_has_its_own(void **state)
{
    (void)state;
    struct clf__search_options options[SOURCES];
    struct toy_result alone[SOURCES], result;
    int seeds[SOURCES];
    make_options(options);
    for (int i = 0; i < SOURCES; i++) {
        seeds[i] = 5 * i + 2;
        struct toy toy = toy_for(&options[i], 1, &seeds[i]);
        assert_ok(toy_search(&alone[i], &toy, 1));
    }
    for (int slots = 1; slots <= SOURCES; slots++) {
        for (int way = 0; way < 2; way++) {
            struct toy toy = toy_for(options, SOURCES, seeds);
            toy.options_each = 1;
            toy.admit_most = 1;
            toy.admit_at_times = way == 1 ? (uint32_t)slots : 0;
            toy.ahead = way;
            assert_ok(toy_search(&result, &toy, slots));
            assert_true(way == 1 || toy.admissions == SOURCES);
            for (int i = 0; i < SOURCES; i++) {
                toy_assert_same(result.hypotheses + i * result.n_best, alone[i].hypotheses,
                                options[i].n_best);
            }
            toy_result_free(&result);
        }
    }
    for (int i = 0; i < SOURCES; i++) {
        toy_result_free(&alone[i]);
    }
}

/* Logits so similar that scores are equal: the lower id would win if a source considered more candidates than
 * its beams need. */
static void test_wider_sources_show_no_more(void **state)
{
    (void)state;
    const struct clf__search_options options[] = {toy_options(20, 2, 1, 1), toy_options(20, 4, 1, 1)};
    struct clf__search_limits limits = clf__search_limits_for(&options[1], 2);
    for (int sources = 1; sources <= 2; sources++) {
        struct clf__search *search;
        struct clf__search_result result;
        assert_ok(clf__search_create(&search, &limits));
        for (int i = 0; i < sources; i++) {
            assert_ok(clf__search_add(search, i, &options[i], i));
        }
        struct clf__step *step = clf__search_prepare(search);
        assert_int_equal(step->rows, sources);
        assert_int_equal(step->candidates, 4 * sources);
        for (int i = 0; i < step->rows * step->candidates; i++) {
            step->values[i] = -1e-9f * (float)(i % step->candidates);
            step->ids[i] = 19 - i % step->candidates;
        }
        for (int row = 0; row < step->rows; row++) {
            memcpy(step->statistics + 4 * row, (float[4]){0.0f, 3.0f, 0.0f, 3.0f}, 4 * sizeof(float));
        }
        clf__search_advance(search);
        for (int i = 0; i < sources; i++) {
            assert_int_equal(clf__search_take(search, &result), 1);
            assert_int_equal(result.tag, i);
            assert_int_equal(result.hypotheses[0].ids[0], i == 0 ? 16 : 12);
        }
        assert_int_equal(clf__search_take(search, &result), 0);
        clf__search_free(search);
    }
}

/* Compares the ids banned in the first step of the only source with the expected ones. */
static void assert_banned(const struct clf__search_options *options, const int32_t *expected, int count)
{
    struct clf__search_limits limits = clf__search_limits_for(options, 1);
    struct clf__search *search;
    assert_true(limits.banned >= count);
    assert_ok(clf__search_create(&search, &limits));
    assert_ok(clf__search_add(search, 0, options, 0));
    const struct clf__step *step = clf__search_prepare(search);
    assert_int_equal(step->rows, 1);
    assert_int_equal(step->banned_offsets[1], count);
    assert_memory_equal(step->banned, expected, (size_t)count * sizeof *expected);
    clf__search_free(search);
}

static void test_bans(void **state)
{
    (void)state;
    static const int32_t words[] = {TOY_END, 8, TOY_START, 7, TOY_START, TOY_START, 6, 5, 6};
    static const int32_t firsts[] = {0, 1, 2, 4, 7, 9};
    static const int32_t of_suppressed[] = {3, 9}, of_words[] = {7, 8}, of_length[] = {TOY_END};
    static const int32_t of_all[] = {TOY_END, 3, 7, 8, 9};
    struct clf__search_options options = toy_options(20, 4, 2, 6);
    assert_banned(&options, NULL, 0);
    options.suppressed = suppressed;
    options.suppressed_count = 3;
    assert_banned(&options, of_suppressed, 2);
    options.suppressed_count = 0;
    options.bad_words = words;
    options.bad_word_offsets = firsts;
    options.bad_word_count = 5;
    assert_banned(&options, of_words, 2);
    options.bad_word_count = 0;
    options.min_length = 1; /* which any token is */
    assert_banned(&options, NULL, 0);
    options.min_length = 2;
    assert_banned(&options, of_length, 1);
    options.suppressed_count = 3;
    options.bad_word_count = 5;
    assert_banned(&options, of_all, 5);
    options.prefix = prefix; /* nothing else can be chosen */
    options.prefix_count = 1;
    assert_banned(&options, NULL, 0);
}

/* A prefix is output unchanged with probability 1, even if it is banned and long before the minimum length;
 * the forced last id takes precedence. */
static void test_prefix(void **state)
{
    (void)state;
    static const int32_t fives_and_twos[] = {5, 2}, one_each[] = {0, 1, 2};
    int seed = 3;
    for (int beams = 1; beams <= 4; beams++) {
        struct clf__search_options options = toy_options(20, beams, beams, 6);
        struct toy_result result;
        options.prefix = prefix;
        options.prefix_count = 4;
        options.min_length = 6;
        options.bad_words = fives_and_twos;
        options.bad_word_offsets = one_each;
        options.bad_word_count = 2;
        struct toy toy = toy_for(&options, 1, &seed);
        assert_ok(toy_search(&result, &toy, 1));
        for (int i = 0; i < beams; i++) {
            assert_int_equal(result.hypotheses[i].length, 6);
            assert_memory_equal(result.hypotheses[i].ids, prefix, sizeof prefix);
            assert_true(result.hypotheses[i].log_probability < 0.0);
        }
        toy_result_free(&result);
        options.max_length = options.min_length = 4;
        options.forced_last = 9;
        toy = toy_for(&options, 1, &seed);
        assert_ok(toy_search(&result, &toy, 1));
        assert_int_equal(toy.calls, 3); /* nothing follows the last token */
        assert_int_equal(result.hypotheses[0].length, 4);
        assert_memory_equal(result.hypotheses[0].ids, prefix, 3 * sizeof *prefix);
        assert_int_equal(result.hypotheses[0].ids[3], 9);
        assert_true(result.hypotheses[0].log_probability == 0.0);
        toy_result_free(&result);
    }
}

/* Attention is requested only in steps with sources that need it, and also at a forced last token. */
static void test_attention_is_wanted(void **state)
{
    (void)state;
    int seed = 3;
    for (int beams = 0; beams <= 3; beams++) { /* 0: samples */
        int rows = beams > 0 ? beams : 1;
        struct clf__search_options options = toy_options(20, rows, rows, 4);
        struct toy_result result, plain;
        options.sampling.is_on = beams == 0;
        options.prefix = prefix;
        options.prefix_count = 4;
        struct toy toy = toy_for(&options, 1, &seed);
        assert_ok(toy_search(&plain, &toy, 1));
        assert_int_equal(toy.calls, 3);
        options.coverage_penalty = 1.0;
        toy = toy_for(&options, 1, &seed);
        assert_ok(toy_search(&result, &toy, 1));
        assert_int_equal(toy.calls, 4);
        double coverage[TOY_PLACES] = {0.0}, sum = 0.0;
        uint32_t at = toy_follow(toy_follow(0, seed), TOY_START);
        for (int i = 0; i < 4; i++) {
            float attention[TOY_PLACES];
            toy_attention(attention, seed, at);
            at = toy_follow(at, prefix[i]);
            for (int k = 0; k < TOY_PLACES; k++) {
                coverage[k] += (double)attention[k];
            }
        }
        for (int k = 0; k < TOY_PLACES; k++) {
            sum += coverage[k] > 0.0 ? log(fmin(coverage[k], 1.0)) : 0.0;
        }
        assert_true(sum < -0.1);
        assert_true(fabs((double)result.hypotheses[0].score - sum) < 1e-5);
        assert_true(plain.hypotheses[0].score == 0.0f && result.hypotheses[0].log_probability == 0.0);
        toy_result_free(&plain);
        toy_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_source_has_its_own),
        cmocka_unit_test(test_wider_sources_show_no_more),
        cmocka_unit_test(test_bans),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_attention_is_wanted),
    };
    return cmocka_run_group_tests_name("search/options", tests, NULL, NULL);
}
