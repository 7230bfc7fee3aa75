/* A model or batch that exceeds the device's memory is rejected with the sizes, or the batch is split. */
#include <limits.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "support/support.h"
#include "translate/internal.h"

static struct clf_device *open_device(void)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.gemm = CLF_GEMM_NATIVE; /* the others allocate memory */
    options.attention = CLF_ATTENTION_FUSED;
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

/* Simulates a device with this much free memory. */
static void leave(struct clf_device *device, uint64_t bytes)
{
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device);
    caps->usable_bytes += bytes - clf__device_free_bytes(device);
    caps->memory_bytes = caps->usable_bytes;
    assert_true(clf__device_free_bytes(device) == bytes);
}

static struct clf_model *load_model(struct clf_device *device)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    return model;
}

static struct clf_translate_options wide_search(const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 4;
    options.max_length = 20;
    options.batch_tokens = 512;
    options.subwords = 1;
    return options;
}

static void test_model_is_refused(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct clf_model *model;
    leave(device, 1000);
    assert_fails(clf_model_load(&model, device, support_fixture("models/marian"), NULL), CLF_DEVICE_MEMORY,
                 "on the device, which has 1000 left of 1000");
    assert_true(clf__device_free_bytes(device) == 1000);
    clf_device_close(device);
}

static void test_batch_is_refused(void **state)
{
    (void)state;
    static const struct clf_line line = {"w2 w3", 5};
    struct clf_device *device = open_device();
    uint64_t memory = clf__device_free_bytes(device);
    struct clf_model *model = load_model(device);
    struct clf_translate_options options = wide_search(model);
    struct clf_translator *translator;
    struct clf_translation *translation;
    struct clf_score *score;
    leave(device, 10000);
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_fails(clf_translate(&translation, translator, &line, 1), CLF_DEVICE_MEMORY, "only 10000 of");
    assert_fails(clf_score(&score, translator, &line, &line, 1), CLF_DEVICE_MEMORY,
                 "device memory: a batch needs");
    assert_true(clf__device_free_bytes(device) == 10000);
    leave(device, memory / 2);
    assert_ok(clf_translate(&translation, translator, &line, 1));
    clf_translations_free(translation, 1);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
}

static uint64_t bytes_of(const struct clf_translator *translator, int lines)
{
    const struct clf__lane *lane = &translator->engine->lanes[0];
    struct clf__session_limits limits =
        clf__capacity_limits(&lane->capacity, lines, lane->batch_tokens, lane->source_length);
    struct clf__session_size size;
    assert_ok(clf__session_measure(&size, lane->model->transformer, &limits));
    assert_true(size.largest_buffer > 0 && size.largest_buffer < size.bytes);
    return size.bytes;
}

static void test_batch_is_split(void **state)
{
    (void)state;
    enum { LINES = 40 };
    struct clf_line lines[LINES];
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct clf_line){"w2 w3", 5};
    }
    struct clf_device *device = open_device();
    struct clf_model *model = load_model(device);
    struct clf_translate_options options = wide_search(model);
    struct clf_translator *translator;
    struct clf_translation *translations;
    leave(device, 2 << 20); /* enough for some lines in half of it, not for 512 / 8 */
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    const struct clf_stage_times *times = clf_translator_times(translator);
    int most = translator->engine->lanes[0].max_lines;
    assert_in_range(most, 2, LINES / 2);
    assert_true(bytes_of(translator, most) <= 1 << 20);
    assert_true(bytes_of(translator, most + 1) > 1 << 20);
    assert_int_equal(times->lines, LINES);
    assert_in_range(times->batches, LINES / most, LINES);
    for (int i = 0; i < LINES; i++) {
        assert_string_equal(translations[i].hypotheses[0].text, translations[0].hypotheses[0].text);
    }
    clf_translations_free(translations, LINES);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
}

/* Products of sizes that overflow an int are rejected, never truncated. */
static void test_absurd_limits(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    static const struct clf__session_limits usual = {.sources = 2, .source_tokens = 20, .source_length = 10};
    struct clf__session_limits limits[6];
    const char *parts[6];
    int count = 0;
    limits[count] = usual; /* 2^32 rows: 0 in 32 bits */
    limits[count].cache_rows = 1 << 16;
    limits[count].positions = 1 << 16;
    parts[count++] = "the cache of keys: 4294967296 rows";
    limits[count] = usual;
    limits[count].source_tokens = INT_MAX;
    parts[count++] = "the layers' rows";
    limits[count] = usual;
    limits[count].target_tokens = INT_MAX / 2;
    parts[count++] = "the layers' rows";
    limits[count] = usual;
    limits[count].cache_rows = limits[count].positions = 4;
    limits[count].banned = INT_MAX;
    parts[count++] = "the ids and positions";
    limits[count] = usual;
    limits[count].cache_rows = limits[count].positions = 4;
    limits[count].candidates = INT_MAX / 2;
    parts[count++] = "the candidates";
    limits[count] = usual;
    limits[count].target_tokens = 10;
    limits[count].target_length = 1 << 20;
    limits[count].maps = 1;
    parts[count++] = "attention's";
    for (int i = 0; i < count; i++) {
        struct clf__session *session;
        assert_fails(clf__session_create(&session, model->transformer, &limits[i]), CLF_DEVICE_MEMORY,
                     parts[i]);
    }
    clf_model_free(model);
}

static void test_absurd_options(void **state)
{
    (void)state;
    static const struct clf_line line = {"w2 w3", 5};
    struct clf_device *device = open_device();
    struct clf_model *model = load_model(device);
    struct clf_translate_options options = wide_search(model);
    struct clf_translator *translator;
    struct clf_translation *translation;
    leave(device, 50 << 20);
    options.batch_tokens = 100000000;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "batch size");
    options.batch_tokens = 1 << 20;
    options.beam = 128;
    options.max_length = 256;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_fails(clf_translate(&translation, translator, &line, 1), CLF_DEVICE_MEMORY, "--batch-tokens");
    clf_translator_free(translator);
    options.max_length = 100000;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "100000");
    clf_model_free(model);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_model_is_refused, support_teardown),
        cmocka_unit_test_teardown(test_batch_is_refused, support_teardown),
        cmocka_unit_test_teardown(test_batch_is_split, support_teardown),
        cmocka_unit_test_teardown(test_absurd_limits, support_teardown),
        cmocka_unit_test_teardown(test_absurd_options, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
