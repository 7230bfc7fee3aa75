/* Attention of selected heads, and ranges of ids over given targets, against whole attention maps and
   logits. */
#include <math.h>
#include <string.h>

#include "support/model_fixture.h"
#include "support/support.h"

enum { HEADS = 4, EACH = 2, TARGETS = 6, FRAMES = 13, ROWS = 7, OTHER_FRAMES = 4 };

static const struct clf__session_head heads[HEADS] = {{1, 7}, {0, 0}, {1, 2}, {1, 9}};
static const int32_t inputs[TARGETS] = {3, 9, 40, 11, 0, 5};

/* Every cross-attention map over the first source, (layers, H, T, S). */
static float *whole_maps(struct clf__transformer *transformer, const float *frames)
{
    size_t all = (size_t)(transformer->config.decoder_layers * transformer->config.decoder_heads);
    const struct clf__session_limits limits = {.sources = 1,
                                               .source_tokens = FRAMES,
                                               .source_length = FRAMES,
                                               .target_tokens = TARGETS,
                                               .target_length = TARGETS,
                                               .maps = 1};
    const struct clf__sequences source = {.count = 1, .first = (const int[]){0, FRAMES}, .frames = frames};
    const struct clf__sequences target = {.count = 1, .first = (const int[]){0, TARGETS}, .ids = inputs};
    struct clf__session *session;
    size_t encoder = (size_t)(transformer->config.encoder_layers * transformer->config.encoder_heads);
    const struct clf__session_maps maps = {
        .encoder = support_array(encoder * ROWS * ROWS, sizeof(float)),
        .decoder = support_array(all * TARGETS * TARGETS, sizeof(float)),
        .cross = support_array(all * TARGETS * ROWS, sizeof(float)),
    };
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_attend_source(session, &source, &maps));
    assert_ok(clf__session_attend_target(session, &target, &maps));
    clf__session_free(session);
    return maps.cross;
}

/* log(sum of exp) of ids first .. end - 1. */
static double log_sum(const float *logits, int first, int end)
{
    double sum = 0;
    for (int v = first; v < end; v++) {
        sum += exp((double)logits[v]);
    }
    return log(sum);
}

static void check_ranges(struct clf__session *session, int vocabulary)
{
    int32_t ranges[TARGETS * EACH * 2];
    float statistics[TARGETS * EACH * 2];
    float *logits = support_array(TARGETS * (size_t)vocabulary, sizeof *logits);
    for (int t = 0; t < TARGETS; t++) {
        const int32_t row[EACH * 2] = {0, 10 + t, inputs[t], inputs[t] + 1};
        memcpy(ranges + t * EACH * 2, row, sizeof row);
    }
    assert_ok(clf__session_look(session, ranges, EACH, statistics));
    assert_ok(clf__session_logits(session, 0, TARGETS, logits));
    for (int t = 0; t < TARGETS; t++) {
        const float *row = logits + (size_t)t * (size_t)vocabulary, *found = statistics + t * EACH * 2;
        assert_true(fabs((double)(found[0] + found[1]) - log_sum(row, 0, 10 + t)) <= 1e-5);
        assert_true(found[2] == row[inputs[t]] && fabsf(found[3]) <= 1e-6f);
    }
}

static void check(struct clf_device *device, clf_precision precision)
{
    /* A session with steps keeps halves in int8; one with only maps keeps floats. */
    float tolerance = precision == CLF_PRECISION_INT8 ? 0.01f : 1e-6f;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture("models/whisper-odd"), precision));
    size_t features = (size_t)transformer->config.feature_size;
    struct support_random random = {8};
    float *frames = support_uniform_array(&random, (FRAMES + OTHER_FRAMES) * features, 1);
    const float *maps = whole_maps(transformer, frames);
    /* Among other sources, with the slots before and after it in other positions. */
    const struct clf__session_limits limits = {.sources = 3,
                                               .source_tokens = 2 * FRAMES + OTHER_FRAMES,
                                               .source_length = FRAMES,
                                               .cache_rows = 3,
                                               .positions = 4,
                                               .candidates = 2,
                                               .ranges = EACH,
                                               .target_tokens = TARGETS + 1,
                                               .target_length = TARGETS + 1,
                                               .aligns = 1,
                                               .logits = 1};
    const struct clf__sequences sources = {
        .count = 2, .first = (const int[]){0, FRAMES, FRAMES + OTHER_FRAMES}, .frames = frames};
    struct clf__session *session;
    float weights[HEADS * TARGETS * ROWS];
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_true(clf__session_reserve(session, 0, OTHER_FRAMES));
    assert_true(clf__session_reserve(session, 2, FRAMES));
    assert_ok(clf__session_encode(session, &sources));
    assert_ok(clf__session_cache(session, (const int[]){2, 0}));
    assert_ok(clf__session_align(session, 2, inputs, TARGETS, heads, HEADS, weights));
    for (int i = 0; i < HEADS; i++) {
        int place = heads[i].layer * transformer->config.decoder_heads + heads[i].head;
        const float *expected = maps + (size_t)place * TARGETS * ROWS;
        for (int n = 0; n < TARGETS * ROWS; n++) {
            assert_true(fabsf(weights[i * TARGETS * ROWS + n] - expected[n]) <= tolerance);
        }
    }
    check_ranges(session, transformer->config.target_vocabulary);
    clf__session_free(session);
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_align(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *batched =
            support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_BATCHED);
        check(support_device((clf_variant)variant), CLF_PRECISION_FP32);
        check(support_device((clf_variant)variant), CLF_PRECISION_INT8);
        check(batched, CLF_PRECISION_FP32);
        check(batched, CLF_PRECISION_INT8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_align, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
