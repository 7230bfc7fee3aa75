/* How `clformer tune` chooses, with a clock that advances only with the work. */
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tune/tune.h"

enum { CANDIDATES = 4, CASES = 2, ROUNDS = 9 };

/* The clock, and whether the user asked to stop. */
static double now;
static int stops_at_run; /* 0: never */
static int runs;

double seconds_now(void)
{
    return now;
}

int signals_interrupted(void *unused)
{
    (void)unused;
    return stops_at_run > 0 && runs >= stops_at_run;
}

void progress_clear(const struct progress *progress)
{
    (void)progress;
}

/* Behaviour of the candidates 10, 11, ... */
struct script {
    double seconds[CANDIDATES];
    double noise[CANDIDATES]; /* added in every second run */
    int is_wrong[CANDIDATES]; /* in the second case_index */
    int is_alike[CANDIDATES]; /* to the first one in the first part */
    int fails_at_run;         /* 0: never */
    int selected, counts[CANDIDATES];
};

static clf_status select_value(void *context, int value)
{
    struct script *script = context;
    script->selected = value - 10;
    return CLF_OK;
}

static int is_alike(void *context, int case_index, int value, int other)
{
    const struct script *script = context;
    assert_int_equal(other, 10);
    return script->is_alike[value - 10] && case_index == 0;
}

static clf_status run(void *context, int case_index)
{
    struct script *script = context;
    int at = script->selected, is_odd = script->counts[at]++ / CASES % 2;
    assert_true(case_index >= 0 && case_index < CASES);
    runs++;
    now += script->seconds[at] * (case_index + 1) + (is_odd ? script->noise[at] : 0);
    return runs == script->fails_at_run ? CLF_DEVICE : CLF_OK;
}

static clf_status check(void *context, int case_index, int is_first, int *is_right)
{
    struct script *script = context;
    assert_int_equal(is_first, script->selected == 0);
    *is_right = case_index == 0 || !script->is_wrong[script->selected];
    return CLF_OK;
}

static clf_status measure(struct tune_result *results, struct script *script, int count)
{
    static const int candidates[CANDIDATES] = {10, 11, 12, 13};
    static const struct tune_patience patience = {ROUNDS, 0};
    const struct tune_work work = {script, CASES, select_value, is_alike, run, check};
    struct progress progress = {.shown = 0};
    runs = 0;
    return tune_measure(results, &work, candidates, count, &patience, &progress, "parameter");
}

/* The chosen value. */
static int chosen(struct script script, int count)
{
    struct tune_result results[CANDIDATES];
    assert_ok(measure(results, &script, count));
    return results[tune_best(results, count)].value;
}

static void test_choice(void **state)
{
    (void)state;
    assert_int_equal(chosen((struct script){.seconds = {1, 0.9, 0.8, 1.1}}, 4), 12);
    assert_int_equal(chosen((struct script){.seconds = {1, 1, 1, 1}}, 4), 10);
    assert_int_equal(chosen((struct script){.seconds = {1, 2, 1.5, 1.01}}, 4), 10);
    assert_int_equal(chosen((struct script){.seconds = {1}}, 1), 10);
}

/* A gain within the variation of the times is ignored. */
static void test_small_gain(void **state)
{
    (void)state;
    assert_int_equal(chosen((struct script){.seconds = {1, 0.99}}, 2), 10);
    assert_int_equal(chosen((struct script){.seconds = {1, 0.9}, .noise = {0, 0.5}}, 2), 10);
    assert_int_equal(chosen((struct script){.seconds = {1, 0.9}, .noise = {0.5, 0.5}}, 2), 11);
}

/* However fast. */
static void test_wrong(void **state)
{
    (void)state;
    struct script script = {.seconds = {1, 0.5, 0.1, 1}, .is_wrong = {0, 0, 1, 0}};
    struct tune_result results[CANDIDATES];
    assert_ok(measure(results, &script, 4));
    assert_true(results[2].is_wrong && !results[1].is_wrong);
    assert_int_equal(tune_best(results, 4), 1);
    assert_int_equal(script.counts[2], CASES); /* no longer measured */
    script = (struct script){.seconds = {1, 0.5}, .is_wrong = {1, 0}};
    assert_fails(measure(results, &script, 2), CLF_DEVICE, "the results of the device are wrong");
}

static void test_slow(void **state)
{
    (void)state;
    struct script script = {.seconds = {1, 50, 0.5, 1}};
    struct tune_result results[CANDIDATES];
    assert_ok(measure(results, &script, 4));
    assert_true(results[1].is_slow && !results[0].is_slow);
    assert_int_equal(script.counts[1], 2 * CASES);
    assert_int_equal(script.counts[0], (2 + ROUNDS) * CASES);
    assert_int_equal(tune_best(results, 4), 2);
}

/* A part that runs identically neither takes time nor dilutes the others. */
static void test_alike(void **state)
{
    (void)state;
    struct script script = {.seconds = {1, 0.97, 0.96, 1}, .is_alike = {0, 1, 0, 0}};
    struct tune_result results[CANDIDATES];
    assert_ok(measure(results, &script, 4));
    assert_int_equal(results[1].cases, 1);
    assert_int_equal(script.counts[1], 2 + ROUNDS);
    assert_true(results[1].ratio > 0.969 && results[1].ratio < 0.971);
    assert_true(results[1].seconds > 2.939 && results[1].seconds < 2.941); /* 1 + 2 * 0.97 */
    assert_int_equal(tune_best(results, 2), 1);
    assert_int_equal(tune_best(results, 4), 2); /* it gains in both */
}

/* Whenever it happens. */
static void test_end(void **state)
{
    (void)state;
    struct tune_result results[CANDIDATES];
    for (int at = 1; at < (2 + ROUNDS) * CASES * 2; at++) {
        struct script script = {.seconds = {1, 1}};
        stops_at_run = at;
        assert_int_equal(measure(results, &script, 2), CLF_INTERRUPTED);
        stops_at_run = 0;
        script = (struct script){.seconds = {1, 1}, .fails_at_run = at};
        assert_int_equal(measure(results, &script, 2), CLF_DEVICE);
    }
}

/* Seconds are the sum over all parts. */
static void test_seconds(void **state)
{
    (void)state;
    struct script script = {.seconds = {1, 0.5}};
    struct tune_result results[CANDIDATES];
    assert_ok(measure(results, &script, 2));
    assert_true(results[0].seconds > 2.999 && results[0].seconds < 3.001);
    assert_true(results[1].seconds > 1.499 && results[1].seconds < 1.501);
    assert_true(results[1].ratio > 0.499 && results[1].ratio < 0.501);
}

static void assert_sum(struct tune_result untuned, struct tune_result tuned, const char *expected)
{
    char text[TUNE_GAINS_TEXT];
    const struct tune_result results[2] = {untuned, tuned};
    tune_describe_total(text, sizeof text, results);
    assert_string_equal(text, expected);
}

/* The final message for the user. */
static void test_words(void **state)
{
    (void)state;
    char text[TUNE_GAINS_TEXT];
    double ratios[CLF__TUNABLE_COUNT] = {0};
    tune_describe_gains(text, sizeof text, ratios);
    assert_string_equal(text, "");
    ratios[CLF__TUNABLE_GEMM] = 1;
    ratios[CLF__TUNABLE_VARIANT] = 1;
    tune_describe_gains(text, sizeof text, ratios);
    assert_string_equal(text, "No speed-up: variant, gemm (the default is the fastest).");
    ratios[CLF__TUNABLE_CPU_GROUPS] = 0.8;
    ratios[CLF__TUNABLE_VARIANT] = 0.5;
    tune_describe_gains(text, sizeof text, ratios);
    assert_string_equal(text,
                        "Speed-up: variant 2.00×, cpu_groups 1.25× (each for the work that it affects). "
                        "No speed-up: gemm (the default is the fastest).");
    for (int tunable = 0; tunable < CLF__TUNABLE_COUNT; tunable++) {
        ratios[tunable] = 0.5;
    }
    tune_describe_gains(text, sizeof text, ratios); /* the longest */
    assert_non_null(strstr(text, "step_rows_int8 2.00× (each for the work that it affects)."));
#define SUM "Total: encoding and decoding, one line and many"
    assert_sum((struct tune_result){.seconds = 0.0125}, (struct tune_result){.seconds = 0.01, .ratio = 0.8},
               SUM " is 1.25 times as fast as untuned, 10 ms instead of 12.5 ms.");
    assert_sum((struct tune_result){.seconds = 0.01},
               (struct tune_result){.seconds = 0.0125, .ratio = 1.25, .spread = 0.1},
               SUM " is 1.25 times as slow as untuned, 12.5 ms instead of 10 ms.");
    assert_sum((struct tune_result){.seconds = 0.01},
               (struct tune_result){.seconds = 0.0095, .ratio = 0.95, .spread = 0.06},
               SUM " takes 0.95 of the untuned time, which is within the variation of the times (0.03).");
    assert_sum((struct tune_result){.seconds = 0.01}, (struct tune_result){.is_slow = 1},
               SUM " takes more than three times as long as untuned.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice), cmocka_unit_test(test_small_gain), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_slow),   cmocka_unit_test(test_end),        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_alike),  cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("tools/tune/measure", tests, NULL, NULL);
}
