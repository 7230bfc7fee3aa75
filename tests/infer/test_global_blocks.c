/* LongT5's encoder: the bits of a source do not depend on the batch; the memory of a session is linear in
 * the length of sources. test_model_parity compares the numbers with transformers. */
#include <string.h>

#include "model/infer/session.h"
#include "support/support.h"

static const char *const fixtures[] = {"models/longt5", "models/longt5-local", "models/longt5-tied"};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures, SOURCES = 6 };

static struct clf__transformer *load(struct clf_device *device, const char *fixture)
{
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(fixture), CLF_PRECISION_FP32));
    return transformer;
}

/* Lengths of no block and of one; blocks of 3 and of 4 with and without rows after the last one. */
static void check_bits(struct clf_device *device, const char *fixture)
{
    static const int first[SOURCES + 1] = {0, 23, 24, 28, 35, 38, 50};
    int32_t ids[50];
    for (int i = 0; i < first[SOURCES]; i++) {
        ids[i] = 3 + 7 * i % 27;
    }
    struct clf__transformer *transformer = load(device, fixture);
    const struct clf__session_limits limits = {
        .sources = SOURCES, .source_tokens = first[SOURCES], .source_length = 23};
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    size_t width = (size_t)transformer->config.d_model;
    float *together = support_array((size_t)first[SOURCES] * width, sizeof *together);
    float *alone = support_array(23 * width, sizeof *alone);
    assert_ok(clf__session_encode(session, &(struct clf__sequences){SOURCES, first, ids, NULL}));
    assert_ok(clf__session_encoded(session, together));
    for (int b = 0; b < SOURCES; b++) {
        int length = first[b + 1] - first[b];
        const struct clf__sequences one = {1, (int[]){0, length}, ids + first[b], NULL};
        assert_ok(clf__session_encode(session, &one));
        assert_ok(clf__session_encoded(session, alone));
        assert_memory_equal(alone, together + (size_t)first[b] * width,
                            (size_t)length * width * sizeof *alone);
    }
    clf__session_free(session);
    clf__transformer_free(transformer);
}

static void test_bits(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < FIXTURES; i++) {
            check_bits(device, fixtures[i]);
        }
    }
}

static uint64_t measure(struct clf__transformer *transformer, int length)
{
    const struct clf__session_limits limits = {.sources = 1,
                                               .source_tokens = length,
                                               .source_length = length,
                                               .cache_rows = 4,
                                               .positions = 64,
                                               .candidates = 8};
    struct clf__session_size size;
    assert_ok(clf__session_measure(&size, transformer, &limits));
    return size.bytes;
}

static void test_memory(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        for (int attention = CLF_ATTENTION_FUSED; attention <= CLF_ATTENTION_BATCHED; attention++) {
            struct clf_device *device =
                support_device_with((clf_variant)variant, CLF_GEMM_AUTO, (clf_attention)attention);
            for (int i = 0; i < FIXTURES; i++) {
                struct clf__transformer *transformer = load(device, fixtures[i]);
                assert_true(measure(transformer, 16384) < 4 * measure(transformer, 4096) + 65536);
                clf__transformer_free(transformer);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bits, support_teardown),
        cmocka_unit_test_teardown(test_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
