/* The result of a trial of matrix instructions: the rules, and the line that stores it. */
#include <string.h>

#include "base/memory.h"
#include "runtime/tuning/level_trial.h"
#include "support/support.h"

static void test_rules(void **state)
{
    (void)state;
    const struct {
        double fp16, int8; /* rates with the instructions; 100 without */
        int is_used, serves_int8;
    } cases[] = {
        {150.0, 101.0, 1, 1}, {149.9, 300.0, 0, 1}, {1000.0, 100.0, 1, 0},
        {1000.0, 99.0, 1, 0}, {50.0, 50.0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__level_trial trial = {.plain_rates = {100.0, 100.0},
                                         .rates = {cases[i].fp16, cases[i].int8}};
        assert_int_equal(clf__level_trial_is_used(&trial), cases[i].is_used);
        assert_int_equal(clf__level_trial_serves_int8(&trial), cases[i].serves_int8);
        clf__level_trial_fail(&trial, 1, "crashed");
        assert_false(clf__level_trial_is_used(&trial) || clf__level_trial_serves_int8(&trial));
    }
    const struct clf__level_trial empty = {.is_lasting = 1};
    assert_false(clf__level_trial_is_used(&empty));
}

static void test_description(void **state)
{
    (void)state;
    struct clf__level_trial trial = {.plain_rates = {100.0, 100.0}, .rates = {400.0, 700.0}};
    char text[CLF__LEVEL_TRIAL_TEXT];
    clf__level_trial_describe(text, &trial);
    assert_string_equal(text, "GEMM 4.00 times as fast in fp16, 7.00 times in int8; used");
    trial.rates[CLF__TRIAL_INT8] = 70.0;
    clf__level_trial_describe(text, &trial);
    assert_string_equal(text, "GEMM 4.00 times as fast in fp16, 0.70 times in int8; used except in int8");
    trial.rates[CLF__TRIAL_FP16] = 140.0;
    clf__level_trial_describe(text, &trial);
    assert_non_null(strstr(text, "not used, because fp16 requires 1.5 times"));
    clf__level_trial_fail(&trial, 1, "their trial crashed (signal 6)");
    clf__level_trial_describe(text, &trial);
    assert_string_equal(text, "not used: their trial crashed (signal 6)");
}

/* Returns what a reader finds in the line that a trial writes, after other output. */
static struct clf__level_trial pass_on(const struct clf__level_trial *trial)
{
    struct clf__level_trial other = {.level = trial->level, .failure = "none"};
    char *line = NULL, *text = NULL;
    assert_ok(clf__level_trial_format(&line, trial));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_ok(clf__format(&text, "measured 1 1 1 1\nnoise\n%s", line));
    assert_true(clf__level_trial_parse(&other, text));
    clf__free(text);
    clf__free(line);
    return other;
}

static void test_line(void **state)
{
    (void)state;
    struct clf__level_trial trial = {
        .is_lasting = 1, .plain_rates = {6e13, 1.25e14}, .rates = {4.5e14, 9e14}};
    struct clf__level_trial other = pass_on(&trial);
    assert_memory_equal(other.plain_rates, trial.plain_rates, sizeof trial.plain_rates);
    assert_memory_equal(other.rates, trial.rates, sizeof trial.rates);
    assert_string_equal(other.failure, "");
    assert_true(other.is_lasting);
    for (int is_lasting = 0; is_lasting < 2; is_lasting++) {
        clf__level_trial_fail(&trial, is_lasting, "cannot\ncompile\x1b");
        other = pass_on(&trial);
        assert_string_equal(other.failure, "cannot compile ");
        assert_int_equal(other.is_lasting, is_lasting);
    }
    clf__level_trial_fail(&trial, 1, "");
    assert_string_not_equal(pass_on(&trial).failure, "");
}

static void test_damaged_lines(void **state)
{
    (void)state;
    const char *const lines[] = {
        "",
        "\n",
        "measured 1 2 3 4",
        "measured 1 2 3\n",
        "measured 1 2 3 4 5\n",
        "measured 1 2 3 x\n",
        "measured 1 2 0 4\n",
        "measured 1 -2 3 4\n",
        "measured nan 2 3 4\n",
        "measured inf 2 3 4\n",
        "failed because",
        "measured 1 2 3 4\nother\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct clf__level_trial trial = {.is_lasting = 1};
        assert_false(clf__level_trial_parse(&trial, lines[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_damaged_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
