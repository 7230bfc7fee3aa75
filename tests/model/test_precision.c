/* Whole models with rounded weights: unusual widths, frames, relative positions, gates. Logits of given
 * targets are close to fp32, and steps close to given targets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/model_fixture.h"
#include "support/support.h"

static const char *const names[] = {"marian-odd", "clformer-frames", "clformer-relative",
                                    "speech",     "whisper-odd",     "longt5"};

/* Relative to the norm of the logits. The relative fixture has large scores, which rounding affects most:
 * originally 0.003, 0.05 and 0.13. */
static const struct {
    clf_precision precision;
    double from_fp32, from_given; /* steps round again, and near a tie may round differently */
} precisions[] = {
    {CLF_PRECISION_FP32, 0, 1e-5},
    {CLF_PRECISION_FP16, 0.01, 1e-5},
    {CLF_PRECISION_BF16, 0.1, 0.03},
    {CLF_PRECISION_INT8, 0.2, 0.03},
};

static double distance(const float *actual, const float *expected, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)actual[i] - (double)expected[i];
        difference += d * d;
        norm += (double)expected[i] * (double)expected[i];
    }
    return sqrt(difference / norm);
}

static float *given_logits(struct clf__session *session, const struct fixture_case *fixture_case,
                           int vocabulary)
{
    int rows = fixture_case->targets.first[fixture_case->targets.count];
    float *logits = support_array((size_t)rows * (size_t)vocabulary, sizeof *logits);
    assert_ok(clf__session_start(session, &fixture_case->sources));
    assert_ok(clf__session_teacher_force(session, &fixture_case->targets));
    assert_ok(clf__session_logits(session, 0, rows, logits));
    return logits;
}

/* Runs the targets token by token: the largest logit of each row into best (rows). */
static void step_through(float *best, struct clf__session *session, const struct clf__sequences *targets,
                         int longest)
{
    int count = targets->count;
    size_t rows = (size_t)count;
    int32_t *tokens = support_array(rows, sizeof *tokens),
            *positions = support_array(rows, sizeof *positions);
    int32_t *cache_rows = support_array(rows, sizeof *cache_rows),
            *offsets = support_array(rows + 1, sizeof *offsets);
    int32_t *ids = support_array(rows, sizeof *ids);
    int *at = support_array(rows, sizeof *at);
    float *values = support_array(rows, sizeof *values),
          *statistics = support_array(4 * rows, sizeof *statistics);
    for (int position = 0; position < longest; position++) {
        struct clf__step step = {.tokens = tokens,
                                 .positions = positions,
                                 .cache_rows = cache_rows,
                                 .parents = cache_rows,
                                 .slots = cache_rows,
                                 .banned = offsets,
                                 .banned_offsets = offsets,
                                 .candidates = 1,
                                 .values = values,
                                 .ids = ids,
                                 .statistics = statistics};
        for (int b = 0; b < count; b++) {
            if (targets->first[b] + position < targets->first[b + 1]) {
                at[step.rows] = targets->first[b] + position;
                tokens[step.rows] = targets->ids[at[step.rows]];
                positions[step.rows] = position;
                cache_rows[step.rows++] = b;
            }
        }
        assert_ok(clf__session_step(session, &step));
        for (int r = 0; r < step.rows; r++) {
            best[at[r]] = values[r];
        }
    }
}

static void check_steps(struct clf__session *session, const struct fixture_case *fixture_case,
                        const float *logits, int vocabulary, double tolerance)
{
    int rows = fixture_case->targets.first[fixture_case->targets.count];
    float *best = support_array((size_t)rows, sizeof *best),
          *expected = support_array((size_t)rows, sizeof *best);
    step_through(best, session, &fixture_case->targets, fixture_case->longest_target);
    for (int r = 0; r < rows; r++) {
        expected[r] = -INFINITY;
        for (int v = 0; v < vocabulary; v++) {
            expected[r] = fmaxf(expected[r], logits[(size_t)r * (size_t)vocabulary + (size_t)v]);
        }
    }
    double moved = distance(best, expected, (size_t)rows);
    assert_true(moved <= tolerance);
}

static void check_fixture(struct clf_device *device, const char *name)
{
    enum { CASES = 2 };
    float *fp32[CASES] = {NULL};
    char path[512];
    snprintf(path, sizeof path, "models/%s", name);
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        struct clf__transformer *transformer;
        assert_ok(
            clf__transformer_load(&transformer, device, support_fixture(path), precisions[p].precision));
        int vocabulary = transformer->config.target_vocabulary;
        struct model_fixture fixture = model_fixture_load(name, transformer->config.feature_size);
        for (int i = 0; i < fixture.count && i < CASES; i++) {
            const struct fixture_case *fixture_case = &fixture.cases[i];
            struct clf__session_limits limits = fixture_limits(fixture_case);
            limits.cache_rows = limits.sources;
            limits.positions = fixture_case->longest_target;
            limits.candidates = limits.banned = 1;
            struct clf__session *session;
            assert_ok(clf__session_create(&session, transformer, &limits));
            float *logits = given_logits(session, fixture_case, vocabulary);
            size_t count = (size_t)limits.target_tokens * (size_t)vocabulary;
            fp32[i] = p == 0 ? logits : fp32[i];
            double moved = distance(logits, fp32[i], count);
            assert_true(moved <= precisions[p].from_fp32);
            check_steps(session, fixture_case, logits, vocabulary, precisions[p].from_given);
            clf__session_free(session);
        }
        clf__transformer_free(transformer);
    }
    support_free_all();
}

static void test_fixtures(void **state)
{
    (void)state;
    size_t step = support_small() ? 3 : 1;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
        for (size_t i = 0; i < sizeof names / sizeof *names; i += step) {
            check_fixture(device, names[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixtures, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
