/* Prefill: tokens given before a step's own, in one call or two, leave the state of separate steps, up to the
 * order of sums in the attention of many queries. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/model_fixture.h"
#include "support/support.h"

enum { SOURCES = 2, BEAMS = 2, ROWS = SOURCES * BEAMS, POSITIONS = 70, K = 2, EACH = 1 };

/* Of the last step. */
struct answers {
    float values[ROWS * K], statistics[ROWS * 4], range_values[ROWS * K], range_statistics[ROWS * 2];
    int32_t ids[ROWS * K], range_ids[ROWS * K];
};

/* The inputs of each row of a step. */
struct fed {
    int rows;
    int32_t tokens[ROWS], positions[ROWS], cache_rows[ROWS], parents[ROWS], slots[ROWS];
    const int32_t *prefill;
    const int32_t *prefill_offsets;
};

static void step_once(struct answers *answers, struct clf__session *session, const struct fed *fed)
{
    static const int32_t no_bans[ROWS + 1] = {0}, ranges[ROWS * 2] = {0, 9, 3, 30, 5, 6, 20, 99};
    memset(answers, 0xFF, sizeof *answers);
    struct clf__step step = {.rows = fed->rows,
                             .tokens = fed->tokens,
                             .positions = fed->positions,
                             .cache_rows = fed->cache_rows,
                             .parents = fed->parents,
                             .slots = fed->slots,
                             .banned = no_bans,
                             .banned_offsets = no_bans,
                             .prefill = fed->prefill,
                             .prefill_offsets = fed->prefill_offsets,
                             .candidates = K,
                             .both_statistics = 1,
                             .ranges_each = EACH,
                             .ranges = ranges,
                             .values = answers->values,
                             .ids = answers->ids,
                             .statistics = answers->statistics,
                             .range_values = answers->range_values,
                             .range_ids = answers->range_ids,
                             .range_statistics = answers->range_statistics};
    assert_ok(clf__session_step(session, &step));
}

static int32_t prompt_token(int slot, int position)
{
    return 4 + (position * 7 + slot * 5) % 30;
}

/* Feeds both sources `counts` tokens, the last of which is the step's. */
static void feed_prefill(struct answers *answers, struct clf__session *session, const int *from,
                         const int *counts)
{
    int32_t prefill[SOURCES * POSITIONS], offsets[SOURCES + 1] = {0};
    struct fed fed = {.rows = SOURCES, .prefill = prefill, .prefill_offsets = offsets};
    for (int s = 0; s < SOURCES; s++) {
        int at = offsets[s];
        for (int t = from[s]; t < counts[s] - 1; t++) {
            prefill[at++] = prompt_token(s, t);
        }
        offsets[s + 1] = at;
        fed.tokens[s] = prompt_token(s, counts[s] - 1);
        fed.positions[s] = counts[s] - 1;
        fed.cache_rows[s] = fed.parents[s] = s * BEAMS;
        fed.slots[s] = s;
    }
    step_once(answers, session, &fed);
}

/* The same, one token per step. */
static void feed_one_by_one(struct answers *answers, struct clf__session *session, const int *counts)
{
    int most = counts[0] > counts[1] ? counts[0] : counts[1];
    for (int t = 0; t < most; t++) {
        struct fed fed = {.rows = 0};
        for (int s = 0; s < SOURCES; s++) {
            int position = counts[s] - most + t, r = fed.rows;
            if (position >= 0) {
                fed.tokens[r] = prompt_token(s, position);
                fed.positions[r] = position;
                fed.cache_rows[r] = fed.parents[r] = s * BEAMS;
                fed.slots[r] = s;
                fed.rows++;
            }
        }
        step_once(answers, session, &fed);
    }
}

/* Continues with two beams per source. */
static void go_on(struct answers *answers, struct clf__session *session, const int *counts)
{
    for (int t = 0; t < 2; t++) {
        struct fed fed = {.rows = ROWS};
        for (int r = 0; r < ROWS; r++) {
            int slot = r / BEAMS;
            fed.tokens[r] = 5 + 3 * r + t;
            fed.positions[r] = counts[slot] + t;
            fed.cache_rows[r] = r;
            fed.parents[r] = t == 0 ? slot * BEAMS : r ^ 1;
            fed.slots[r] = slot;
        }
        step_once(&answers[t], session, &fed);
    }
}

static void compare(const float *actual, const float *expected, int count, double tolerance)
{
    for (int i = 0; i < count; i++) {
        double is = (double)actual[i], should = (double)expected[i];
        assert_true(is == should || fabs(is - should) <= tolerance * (1 + fabs(should)));
    }
}

/* Compares equally many steps. Ids are compared only without rounding, which could swap two of them. */
static void check_answers(const struct answers *actual, const struct answers *expected, int steps,
                          clf_precision precision)
{
    double tolerance = precision == CLF_PRECISION_FP32 ? 1e-5 : 2e-2;
    for (int i = 0; i < steps; i++) {
        int rows = i == 0 ? SOURCES : ROWS;
        compare(actual[i].values, expected[i].values, rows * K, tolerance);
        compare(actual[i].statistics, expected[i].statistics, rows * 4, tolerance);
        compare(actual[i].range_values, expected[i].range_values, rows * K, tolerance);
        compare(actual[i].range_statistics, expected[i].range_statistics, rows * 2, tolerance);
        if (precision == CLF_PRECISION_FP32) {
            assert_memory_equal(actual[i].ids, expected[i].ids, sizeof actual[i].ids);
            assert_memory_equal(actual[i].range_ids, expected[i].range_ids, sizeof actual[i].range_ids);
        }
    }
}

static void check_counts(struct clf__session *session, const int *counts, clf_precision precision)
{
    enum { STEPS = 3 };
    static const int none[SOURCES] = {0};
    const int halves[SOURCES] = {counts[0] / 2, (counts[1] + 1) / 2};
    struct answers expected[STEPS], actual[STEPS], again[STEPS], between;
    feed_one_by_one(expected, session, counts);
    go_on(expected + 1, session, counts);
    feed_prefill(actual, session, none, counts);
    go_on(actual + 1, session, counts);
    check_answers(actual, expected, STEPS, precision);
    if (halves[0] > 0 && halves[1] > 0) { /* in two calls, the second after a step */
        feed_prefill(&between, session, none, halves);
        feed_prefill(again, session, halves, counts);
        go_on(again + 1, session, counts);
        check_answers(again, expected, STEPS, precision);
    }
}

static void check(struct clf_device *device, const char *name, clf_precision precision)
{
    static const int all[][SOURCES] = {{1, 2}, {2, 1}, {3, 3}, {17, 5}, {40, POSITIONS - 2}};
    enum { WHISPER_COUNTS = 4 }; /* size of its position table */
    int count = support_small()                ? 3
                : strcmp(name, "whisper") == 0 ? WHISPER_COUNTS
                                               : (int)(sizeof all / sizeof *all);
    char folder[64];
    snprintf(folder, sizeof folder, "models/%s", name);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(folder), precision));
    struct model_fixture fixture = model_fixture_load(name, transformer->config.feature_size);
    struct clf__sequences sources = fixture.cases[0].sources;
    struct clf__session_limits limits = fixture_limits(&fixture.cases[0]);
    assert_true(sources.count >= SOURCES);
    sources.count = SOURCES;
    limits.cache_rows = limits.sources * BEAMS;
    limits.positions = POSITIONS;
    limits.candidates = K;
    limits.ranges = EACH;
    limits.prefill = SOURCES * POSITIONS;
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &sources));
    for (int i = 0; i < count; i++) {
        check_counts(session, all[i], precision);
    }
    clf__session_free(session);
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_prefill(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
        for (int p = CLF_PRECISION_FP32; p <= CLF_PRECISION_INT8; p++) {
            check(device, "whisper", (clf_precision)p);
        }
        check(device, "marian", CLF_PRECISION_FP32);
        check(device, "t5", CLF_PRECISION_FP32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_prefill, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
