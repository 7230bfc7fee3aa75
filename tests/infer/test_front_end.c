/* Front ends whose rows are not single frames. One that takes every second frame gives the results of the
 * ordinary one on those frames; convolutions give a source equal bits in any batch. */
#include <string.h>

#include "model/infer/internal.h"
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

/* Logits of the same targets over sources with `each` frames per row. */
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
    assert_ok(clf__session_cache(session, slots));
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
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO),
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

/* Encoder output for sources whose frames are on the host or on the device. */
static float *encode(struct clf__session *session, const struct clf__sequences *sources, int on_device,
                     int rows)
{
    struct clf__sequences given = *sources;
    if (on_device) {
        struct clf__tensor frames = clf__session_frames(session);
        assert_ok(
            clf__tensor_write(clf__tensor_rows(frames, 0, sources->first[sources->count]), sources->frames));
        given.frames = NULL;
    }
    size_t width = (size_t)session->transformer->config.d_model;
    float *encoded = support_array((size_t)rows * width, sizeof *encoded);
    assert_ok(clf__session_encode(session, &given));
    assert_ok(clf__session_encoded(session, encoded));
    return encoded;
}

static void check_convolutions(struct clf_device *device, clf_precision precision)
{
    static const int batch_first[] = {0, 5, 6, 18, 21}, batch_rows[] = {3, 1, 6, 2};
    enum { BATCH = 4, FRAMES = 21, BATCH_ROWS = 12 };
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture("models/whisper-odd"), precision));
    size_t features = (size_t)transformer->config.feature_size, width = (size_t)transformer->config.d_model;
    struct support_random random = {6};
    float *frames = support_uniform_array(&random, FRAMES * features, 1);
    const struct clf__session_limits limits = {
        .sources = BATCH, .source_tokens = FRAMES, .source_length = 12};
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    const struct clf__sequences batch = {.count = BATCH, .first = batch_first, .frames = frames};
    const float *together = encode(session, &batch, 0, BATCH_ROWS);
    assert_memory_equal(encode(session, &batch, 1, BATCH_ROWS), together, BATCH_ROWS * width * sizeof(float));
    for (int b = 0, row = 0; b < BATCH; row += batch_rows[b++]) {
        int count = batch_first[b + 1] - batch_first[b], rows = batch_rows[b];
        assert_int_equal(clf__session_source_rows(session, count), rows);
        const struct clf__sequences alone = {.count = 1,
                                             .first = (const int[]){0, count},
                                             .frames = frames + (size_t)batch_first[b] * features};
        assert_memory_equal(encode(session, &alone, 0, rows), together + (size_t)row * width,
                            (size_t)rows * width * sizeof(float));
    }
    clf__session_free(session);
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_convolutions(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int precision = CLF_PRECISION_FP32; precision <= CLF_PRECISION_INT8; precision++) {
            check_convolutions(device, (clf_precision)precision);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rows, support_teardown),
        cmocka_unit_test_teardown(test_convolutions, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
