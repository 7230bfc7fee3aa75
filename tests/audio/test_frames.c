/* Rows of recordings: adjacent log-mel frames by layout, and the number of rows. */
#include "audio/frames.h"

#include <string.h>

#include <clformer/audio.h>

#include "base/memory.h"
#include "train/files.h"

enum { BANDS = 80, HOP = 160 };

static const struct clf__frame_layout plain = {BANDS, 1, 1};

/* The rows of noise, computed together with another recording. */
static float *make_rows(struct clf__frame_layout layout, int rows, const float *samples, int count)
{
    struct clf__frame_maker *maker;
    size_t width = (size_t)(layout.stack * layout.bands);
    float *values = support_array((size_t)rows * width, sizeof *values),
          *other = support_array(width, sizeof *other);
    assert_ok(clf__frame_maker_create(&maker, support_device(CLF_VARIANT_AUTO), layout));
    assert_ok(clf__frame_maker_add(maker, other, 1, samples + HOP, HOP));
    assert_ok(clf__frame_maker_add(maker, values, rows, samples, count));
    assert_ok(clf__frame_maker_finish(maker));
    clf__frame_maker_free(maker);
    return values;
}

/* Each row contains the frames from its first one on; after the recording's end, its last frame is
 * repeated. */
static void check_layout(struct clf__frame_layout layout, const float *frames, int count, const float *rows,
                         int row_count)
{
    const size_t width = BANDS * sizeof(float);
    for (int row = 0; row < row_count; row++) {
        for (int i = 0; i < layout.stack; i++) {
            int frame = row * layout.step + i < count ? row * layout.step + i : count - 1;
            assert_memory_equal(rows + (size_t)(row * layout.stack + i) * BANDS,
                                frames + (size_t)frame * BANDS, width);
        }
    }
}

static void test_layouts(void **state)
{
    (void)state;
    static const struct clf__frame_layout layouts[] = {{BANDS, 1, 1}, {BANDS, 4, 3}, {BANDS, 3, 4},
                                                       {BANDS, 1, 2}, {BANDS, 7, 1}, {BANDS, 30, 30}};
    enum { FRAMES = 23, SAMPLES = FRAMES * HOP + 70 };
    struct support_random random = {5};
    float *samples = support_uniform_array(&random, SAMPLES, 0.5F);
    float *frames = make_rows(plain, FRAMES, samples, SAMPLES);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        int rows = (FRAMES + layouts[i].step - 1) / layouts[i].step;
        check_layout(layouts[i], frames, FRAMES, make_rows(layouts[i], rows, samples, SAMPLES), rows);
        if (rows > 2) { /* only the first ones, of the whole recording */
            check_layout(layouts[i], frames, FRAMES, make_rows(layouts[i], 2, samples, SAMPLES), 2);
        }
    }
}

/* A file's rows equal those of its samples, complete or truncated, and the row count is returned. */
static void test_files(void **state)
{
    (void)state;
    static const struct clf__frame_layout layout = {BANDS, 4, 3};
    struct clf__frame_maker *maker;
    struct clf__recording recording;
    float *values;
    int rows, whole;
    if (!clf_audio_reads_files()) {
        skip();
    }
    const char *folder = support_temporary_folder();
    char path[512];
    snprintf(path, sizeof path, "%s/tone.wav", folder);
    assert_ok(clf__frame_maker_create(&maker, support_device(CLF_VARIANT_AUTO), layout));
    for (int frames = 0; frames < 14; frames++) {
        int expected = (frames + 2) / 3;
        write_tone(folder, "tone.wav", frames * HOP + 159, 20);
        assert_ok(clf__recording_read(&recording, &layout, path, 100));
        assert_int_equal(recording.count, frames * HOP + 159);
        assert_int_equal(recording.rows, expected);
        assert_ok(clf__frames_read(&values, &rows, &whole, maker, path, 100));
        assert_true(rows == expected && whole == expected);
        if (frames > 0) {
            float *same = make_rows(plain, frames, recording.samples, recording.count);
            check_layout(layout, same, frames, values, rows);
        }
        clf__free(values);
        clf__recording_free(&recording);
        assert_ok(clf__frames_read(&values, &rows, &whole, maker, path, 2));
        assert_true(rows == (expected < 2 ? expected : 2) && whole == expected);
        clf__free(values);
    }
    clf__frame_maker_free(maker);
}

static void test_too_many_bands(void **state)
{
    (void)state;
    static const float silence[HOP] = {0};
    struct clf__frame_layout layout = {4096, 2, 1};
    struct clf__frame_maker *maker;
    float *target = support_array(2 * 4096, sizeof *target);
    assert_ok(clf__frame_maker_create(&maker, support_device(CLF_VARIANT_AUTO), layout));
    assert_fails(clf__frame_maker_add(maker, target, 1, silence, HOP), CLF_UNSUPPORTED, "4096");
    clf__frame_maker_free(maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_too_many_bands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
