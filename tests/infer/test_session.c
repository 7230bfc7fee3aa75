/* Session memory: slots are reserved and released, and a source's results do not depend on its slot. */
#include <stdio.h>
#include <string.h>

#include "runtime/device/buffer.h"
#include "support/model_fixture.h"
#include "support/support.h"

static struct clf__session *new_session(struct clf__transformer *transformer,
                                        const struct clf__session_limits *limits)
{
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, limits));
    return session;
}

static void test_slots(void **state)
{
    (void)state;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO),
                                    support_fixture("models/marian"), CLF_PRECISION_FP32));
    struct clf__session_limits limits = {.sources = 5, .source_tokens = 20, .source_length = 20};
    struct clf__session *session = new_session(transformer, &limits);
    assert_true(clf__session_reserve(session, 0, 8)); /* rows 0 to 7 */
    assert_true(clf__session_reserve(session, 1, 6)); /* 8 to 13 */
    assert_true(clf__session_reserve(session, 4, 6)); /* 14 to 19 */
    assert_false(clf__session_reserve(session, 2, 1));
    clf__session_release(session, 1);
    assert_false(clf__session_reserve(session, 1, 7));
    assert_true(clf__session_reserve(session, 2, 4)); /* 8 to 11 */
    assert_false(clf__session_reserve(session, 1, 3));
    assert_true(clf__session_reserve(session, 1, 2)); /* 12 to 13 */
    clf__session_release(session, 4);
    clf__session_release(session, 1);
    assert_true(clf__session_reserve(session, 3, 8)); /* released by two of them: 12 to 19 */
    clf__session_release_all(session);
    assert_true(clf__session_reserve(session, 3, 20));
    assert_false(clf__session_reserve(session, 0, 1));
    clf__session_free(session);
    clf__transformer_free(transformer);
}

static float *logits_of(struct clf__session *session, struct clf__transformer *transformer,
                        const struct fixture_case *fixture_case)
{
    int rows = fixture_case->targets.first[fixture_case->targets.count];
    float *logits =
        support_array((size_t)rows * (size_t)transformer->config.target_vocabulary, sizeof *logits);
    assert_ok(clf__session_teacher_force(session, &fixture_case->targets));
    assert_ok(clf__session_logits(session, 0, rows, logits));
    return logits;
}

/* The sources in another order of slots, with other rows before each: there are gaps. */
static void scatter(struct clf__session *session, const struct clf__sequences *sources)
{
    int count = sources->count;
    int *slots = support_array((size_t)count, sizeof *slots);
    for (int b = count - 1; b >= 0; b--) {
        slots[b] = b;
        assert_true(clf__session_reserve(session, count + b, 1 + b % 3));
        assert_true(clf__session_reserve(session, b, sources->first[b + 1] - sources->first[b]));
    }
    for (int b = 0; b < count; b++) {
        clf__session_release(session, count + b);
    }
    assert_ok(clf__session_encode(session, sources));
    assert_ok(clf__session_cache(session, slots));
}

static void check_case(struct clf__transformer *transformer, const struct fixture_case *fixture_case)
{
    struct clf__session_limits limits = fixture_limits(fixture_case);
    int rows = limits.target_tokens, count = limits.sources;
    size_t bytes = (size_t)rows * (size_t)transformer->config.target_vocabulary * sizeof(float);
    struct clf__session *session = new_session(transformer, &limits);
    assert_ok(clf__session_start(session, &fixture_case->sources));
    float *expected = logits_of(session, transformer, fixture_case);
    clf__session_free(session);
    limits.sources = 2 * count;
    limits.source_tokens += 3 * count;
    session = new_session(transformer, &limits);
    scatter(session, &fixture_case->sources);
    assert_memory_equal(logits_of(session, transformer, fixture_case), expected, bytes);
    assert_ok(clf__session_start(session, &fixture_case->sources)); /* and all anew */
    assert_memory_equal(logits_of(session, transformer, fixture_case), expected, bytes);
    clf__session_free(session);
}

static void check_fixture(struct clf_device *device, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "models/%s", name);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(path), CLF_PRECISION_FP32));
    struct model_fixture fixture = model_fixture_load(name, transformer->config.feature_size);
    for (int i = 0; i < fixture.count; i++) {
        check_case(transformer, &fixture.cases[i]);
    }
    clf__transformer_free(transformer);
    support_free_all();
}

/* Some architectures mask pad tokens: the flags move with the rows. */
static void test_scattered_sources(void **state)
{
    (void)state;
    int step = support_small() ? 7 : 1;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
        int index = 0;
        const char *const *name = support_fixture_folders("models", "expected.json");
        for (; *name != NULL; name++) {
            if (index++ % step == 0) {
                check_fixture(device, *name);
            }
        }
    }
}

/* Measuring allocates nothing on the device, including the copies of operands that int8 needs. */
static void test_measure(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf__transformer *transformer;
    assert_ok(
        clf__transformer_load(&transformer, device, support_fixture("models/marian"), CLF_PRECISION_INT8));
    struct clf__session_limits limits = {.sources = 1, .source_tokens = 20000, .source_length = 20};
    uint64_t before = clf__device_free_bytes(device);
    struct clf__session_size size;
    assert_ok(clf__session_measure(&size, transformer, &limits));
    assert_true(clf__device_free_bytes(device) == before);
    struct clf__session *session = new_session(transformer, &limits);
    assert_true(clf__device_free_bytes(device) < before - size.bytes);
    clf__session_free(session);
    clf__transformer_free(transformer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_slots, support_teardown),
        cmocka_unit_test_teardown(test_scattered_sources, support_teardown),
        cmocka_unit_test_teardown(test_measure, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
