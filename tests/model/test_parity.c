/* Logits of every architecture against PyTorch on the same weights, for whole targets and step by step. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "support/model_fixture.h"
#include "support/support.h"

static const double tolerance = 1e-5; /* ||a - b|| / ||b|| */

static double *as_double(const float *values, size_t count)
{
    double *out = support_array(count, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        out[i] = values[i];
    }
    return out;
}

static void check_case(struct clf__transformer *transformer, const struct fixture_case *fixture_case)
{
    struct clf__session_limits limits = fixture_limits(fixture_case);
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &fixture_case->sources));
    assert_ok(clf__session_teacher_force(session, &fixture_case->targets));
    int rows = limits.target_tokens;
    size_t count = (size_t)rows * (size_t)transformer->config.target_vocabulary;
    float *logits = support_array(count, sizeof *logits);
    assert_ok(clf__session_logits(session, 0, rows, logits));
    clf__session_free(session);
    assert_close(logits, as_double(fixture_case->logits, count), count, tolerance);
}

/* Decoding step by step must equal forced decoding: with k = V a step gives every logit. */
static void check_steps(struct clf__transformer *transformer, const struct fixture_case *fixture_case)
{
    int vocabulary = transformer->config.target_vocabulary, sources = fixture_case->sources.count;
    const int *first = fixture_case->targets.first;
    struct clf__session_limits limits = fixture_limits(fixture_case);
    limits.cache_rows = sources;
    limits.positions = fixture_case->longest_target;
    limits.candidates = vocabulary;
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &fixture_case->sources));
    size_t count = (size_t)first[sources] * (size_t)vocabulary;
    float *logits = support_array(count, sizeof *logits);
    size_t width = (size_t)vocabulary, batch = (size_t)sources;
    int32_t *ids = support_array(batch * width, sizeof *ids);
    float *values = support_array(batch * width, sizeof *values),
          *statistics = support_array(batch * 4, sizeof(float));
    int32_t *tokens = support_array(batch, sizeof *tokens),
            *cache_rows = support_array(batch, sizeof *cache_rows);
    int32_t *positions = support_array(batch, sizeof *positions),
            *offsets = support_array(batch + 1, sizeof *offsets);
    for (int t = 0; t < fixture_case->longest_target; t++) {
        struct clf__step step = {.tokens = tokens,
                                 .positions = positions,
                                 .cache_rows = cache_rows,
                                 .parents = cache_rows,
                                 .slots = cache_rows,
                                 .banned = offsets,
                                 .banned_offsets = offsets,
                                 .candidates = vocabulary,
                                 .values = values,
                                 .ids = ids,
                                 .statistics = statistics};
        for (int b = 0; b < sources; b++) {
            if (first[b] + t < first[b + 1]) {
                tokens[step.rows] = fixture_case->targets.ids[first[b] + t];
                positions[step.rows] = t;
                cache_rows[step.rows++] = b;
            }
        }
        assert_ok(clf__session_step(session, &step));
        for (int r = 0; r < step.rows; r++) {
            for (int i = 0; i < vocabulary; i++) {
                size_t row = (size_t)(first[cache_rows[r]] + t);
                logits[row * width + (size_t)ids[r * vocabulary + i]] = values[r * vocabulary + i];
            }
        }
    }
    clf__session_free(session);
    assert_close(logits, as_double(fixture_case->logits, count), count, tolerance);
}

/* Generated pad tokens cannot be masked in the history: steps are compared only if targets contain none. */
static int steps_are_comparable(const struct clf__config *config, const struct fixture_case *fixture_case)
{
    for (int i = 0; i < fixture_case->targets.first[fixture_case->targets.count]; i++) {
        int is_start = fixture_case->targets.ids[i] == config->decoder_start_id;
        if (fixture_case->targets.ids[i] == config->pad_id && !is_start) {
            return 0;
        }
    }
    return config->target_vocabulary <= 256;
}

static void check_fixture(struct clf_device *device, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "models/%s", name);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(path), CLF_PRECISION_FP32));
    struct model_fixture fixture = model_fixture_load(name, transformer->config.feature_size);
    assert_int_equal(fixture.vocabulary, transformer->config.target_vocabulary);
    int checked = 0;
    for (int i = 0; i < fixture.count; i++) {
        const struct fixture_case *fixture_case = &fixture.cases[i];
        int is_tiny = fixture_case->longest_source <= 8 && fixture_case->longest_target <= 8;
        if (support_small() && (!is_tiny || checked > 0)) {
            continue;
        }
        check_case(transformer, fixture_case);
        if (steps_are_comparable(&transformer->config, fixture_case)) {
            check_steps(transformer, fixture_case);
        }
        checked++;
    }
    assert_true(checked > 0);
    clf__transformer_free(transformer);
    support_free_all();
}

/* Architectures of Hugging Face whose differences other fixtures cover too: few of them in small tests. */
static int is_generated(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "models/%s/generated.json", name);
    return clf__file_exists(support_fixture(path));
}

/* Each architecture, and every step-th of its variants. In small tests with both kernel variants, every
 * second of these, starting with the first or the second: each architecture runs in both, once with fused and
 * once with batched attention. */
static void check_all(struct clf_device *device, int step, int second)
{
    int every = support_small() && support_first_variant() != support_last_variant() ? 2 : 1;
    const char *const *names = support_fixture_folders("models", "expected.json");
    for (int i = 0; names[i] != NULL; i++) {
        int is_system = strchr(names[i], '-') == NULL && !(support_small() && is_generated(names[i]));
        if ((i + second) % every != 0 || (i % step != 0 && !is_system)) {
            continue;
        }
        print_message("%s\n", names[i]);
        check_fixture(device, names[i]);
    }
}

static void test_variants(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        int is_other = variant != support_first_variant(); /* runs fewer variants */
        check_all(support_device((clf_variant)variant), support_small() || is_other ? 3 : 1,
                  variant == CLF_VARIANT_GPU);
    }
}

static void test_batched_attention(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        check_all(support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_BATCHED),
                  support_small() ? 7 : 3, variant == CLF_VARIANT_CPU);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_variants, support_teardown),
        cmocka_unit_test_teardown(test_batched_attention, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
