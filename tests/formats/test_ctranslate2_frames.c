/* CTranslate2 folders with frame sources (WhisperSpec): logits of the original folder, the settings in
 * config.json, and conversion. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "model/config/config.h"
#include "model/folder.h"
#include "model/formats/format.h"
#include "support/model_fixture.h"
#include "support/support.h"

/* Relative error of the logits from rounding the stored weights, against fp32. */
static const struct {
    const char *name;
    double tolerance;
} rows[] = {{"float32", 1e-5}, {"float16", 5e-3}, {"int8_float32", 0.1}};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *folder_of(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "formats/ctranslate2-whisper/%s", name);
    return support_fixture(path);
}

/* For the fixture's first case. */
static float *logits_of(struct clf_device *device, const char *folder, clf_precision precision,
                        const struct fixture_case *fixture_case)
{
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, folder, precision));
    struct clf__session_limits limits = fixture_limits(fixture_case);
    size_t count = (size_t)limits.target_tokens * (size_t)transformer->config.target_vocabulary;
    float *logits = support_array(count, sizeof *logits);
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &fixture_case->sources));
    assert_ok(clf__session_teacher_force(session, &fixture_case->targets));
    assert_ok(clf__session_logits(session, 0, limits.target_tokens, logits));
    clf__session_free(session);
    clf__transformer_free(transformer);
    return logits;
}

static void test_logits(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    for (int i = 0; i < ROWS; i++) {
        struct model_fixture fixture = model_fixture_load("whisper", 7);
        const struct fixture_case *first = &fixture.cases[0];
        size_t count = (size_t)first->targets.first[first->targets.count] * (size_t)fixture.vocabulary;
        const float *logits = logits_of(device, folder_of(rows[i].name), CLF_PRECISION_FP32, first);
        double *expected = support_array(count, sizeof *expected);
        for (size_t n = 0; n < count; n++) {
            expected[n] = (double)first->logits[n];
        }
        assert_close(logits, expected, count, rows[i].tolerance);
        support_free_all();
    }
}

static void test_config(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct clf__config config;
        assert_ok(clf__format_read_config(&config, folder_of(rows[i].name)));
        assert_true(config.convolves_frames && config.feature_size == 7 && config.source_vocabulary == 0);
        assert_true(config.target_vocabulary == 41 && config.end_id == 2 && config.decoder_start_id == 3);
        assert_true(config.encoder_max_positions == 10 && config.decoder_max_positions == 20);
        assert_true(config.word_head_count == 2 && config.word_heads[0].layer == 1 &&
                    config.word_heads[0].head == 2 && config.word_heads[1].layer == 0);
        assert_true(config.generation.suppressed_count == 2 && config.generation.suppressed[1] == 9);
        assert_true(config.generation.begin_suppressed_count == 2 &&
                    config.generation.begin_suppressed[0] == 2);
        clf__config_free(&config);
    }
}

/* Converted to another precision, a folder gives the bits of the original loaded in it. */
static void test_convert(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    static const clf_precision precisions[] = {CLF_PRECISION_FP16, CLF_PRECISION_INT8};
    const char *folders[] = {"float32", "int8_float32"};
    for (int i = 0; i < 2; i++) {
        struct model_fixture fixture = model_fixture_load("whisper", 7);
        const struct fixture_case *first = &fixture.cases[0];
        size_t count = (size_t)first->targets.first[first->targets.count] * (size_t)fixture.vocabulary;
        const char *to = support_temporary_path("converted");
        assert_ok(clf_convert(to, folder_of(folders[i]), precisions[i]));
        const float *expected = logits_of(device, folder_of(folders[i]), precisions[i], first);
        assert_memory_equal(logits_of(device, to, precisions[i], first), expected, count * sizeof *expected);
        support_free_all();
    }
}

/* A copy with another config.json. */
static void expect_bad(const char *text, const char *part)
{
    const char *folder = folder_copy("../formats/ctranslate2-whisper/float32");
    folder_write_text(folder, "config.json", text);
    struct clf__config config;
    assert_fails(clf__format_read_config(&config, folder), CLF_FORMAT, part);
}

static void test_bad_config(void **state)
{
    (void)state;
    expect_bad("{\"alignment_heads\": [[2, 0]]}",
               "not a pair of a layer and a head (the decoder has 2 layers of 3 heads)");
    expect_bad("{\"alignment_heads\": [[0, 3]]}", "alignment_heads");
    expect_bad("{\"alignment_heads\": [[0]]}", "alignment_heads");
    expect_bad("{\"alignment_heads\": [0, 1]}", "alignment_heads");
    expect_bad("{\"alignment_heads\": [[-1, 0]]}", "alignment_heads");
    expect_bad("{\"suppress_ids\": [41]}", "suppress_ids");
    expect_bad("{\"suppress_ids_begin\": 7}", "suppress_ids_begin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_config, support_teardown),
        cmocka_unit_test_teardown(test_convert, support_teardown),
        cmocka_unit_test_teardown(test_bad_config, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
