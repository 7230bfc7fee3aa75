/* A front end whose rows are not its frames: one that takes every second frame gives what the ordinary one
 * gives of those frames alone. */
#include <string.h>

#include "support/model_fixture.h"
#include "support/support.h"

enum { SOURCES = 2, ROWS = 5, TARGETS = 3, MOST_FRAMES = 2 * ROWS };
static const int first[SOURCES + 1] = {0, 2, ROWS}, target_first[SOURCES + 1] = {0, 1, TARGETS};

static int half(int count)
{
    return count / 2;
}

static clf_status second_forward(struct clf__tensor y, const struct clf__front_end *front_end,
                                 const struct clf__front_end_input *input, struct clf__tensor table,
                                 struct clf__tensor positions)
{
    struct clf__front_end_input kept = {.frames = input->frames};
    kept.frames.rows /= 2;
    kept.frames.stride *= 2;
    return clf__frames_front_end.forward(y, front_end, &kept, table, positions);
}

/* Logits of the same targets over sources of `each` frames a row. */
static float *logits_of(struct clf__transformer *transformer, const float *frames, int each)
{
    int vocabulary = transformer->config.target_vocabulary, frames_first[SOURCES + 1] = {0};
    const int32_t targets[TARGETS] = {1, 1, 4};
    for (int b = 0; b < SOURCES; b++) {
        frames_first[b + 1] = each * first[b + 1];
    }
    const struct clf__session_limits limits = {.sources = SOURCES,
                                               .source_tokens = MOST_FRAMES,
                                               .source_length = MOST_FRAMES,
                                               .target_tokens = TARGETS,
                                               .target_length = TARGETS,
                                               .logits = 1};
    const struct clf__sequences sources = {.count = SOURCES, .first = frames_first, .frames = frames};
    const struct clf__sequences inputs = {.count = SOURCES, .first = target_first, .ids = targets};
    struct clf__session *session;
    float *logits = support_array((size_t)TARGETS * (size_t)vocabulary, sizeof *logits);
    assert_ok(clf__session_create(&session, transformer, &limits));
    const int slots[SOURCES] = {1, 0};
    for (int b = 0; b < SOURCES; b++) {
        assert_true(clf__session_reserve(session, slots[b], frames_first[b + 1] - frames_first[b]));
    }
    assert_ok(clf__session_encode(session, &sources));
    assert_ok(clf__session_remember(session, slots));
    assert_ok(clf__session_start(session, &sources));
    assert_ok(clf__session_teacher_force(session, &inputs));
    assert_ok(clf__session_logits(session, 0, TARGETS, logits));
    clf__session_free(session);
    return logits;
}

static void test_rows(void **state)
{
    (void)state;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_FORM_AUTO),
                                    support_fixture("models/speech"), CLF_PRECISION_FP32));
    size_t width = (size_t)transformer->config.feature_size;
    struct support_random random = {5};
    float *all = support_uniform_array(&random, MOST_FRAMES * width, 1);
    float *seconds = support_array(ROWS * width, sizeof *seconds);
    for (size_t i = 0; i < ROWS; i++) {
        memcpy(seconds + i * width, all + 2 * i * width, width * sizeof *seconds);
    }
    const float *expected = logits_of(transformer, seconds, 1);
    const struct clf__front_end_kind every_second = {.rows = half, .forward = second_forward};
    transformer->encoder.embedder.front_end.kind = &every_second;
    const float *logits = logits_of(transformer, all, 2);
    assert_memory_equal(logits, expected,
                        TARGETS * (size_t)transformer->config.target_vocabulary * sizeof *logits);
    clf__transformer_free(transformer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
