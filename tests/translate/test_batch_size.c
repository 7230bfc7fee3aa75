/* The default of --batch-tokens: from the kernel variant, the compute units, the free memory and the
   model. */
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "support/support.h"
#include "translate/internal.h"

static void test_wanted(void **state)
{
    (void)state;
    static const struct {
        unsigned units;
        int tokens;
    } cases[] = {{1, 2048},    {4, 2048},    {8, 4096},     {16, 8192},     {28, 16384},         {58, 32768},
                 {108, 65536}, {132, 65536}, {304, 131072}, {5000, 131072}, {4294967295, 131072}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(clf__batch_tokens_wanted(CLF_VARIANT_GPU, cases[i].units), cases[i].tokens);
        assert_int_equal(clf__batch_tokens_wanted(CLF_VARIANT_CPU, cases[i].units), 2048);
    }
}

static struct clf_device *open_device(clf_variant variant, unsigned compute_units)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    assert_ok(clf_device_open(&device, NULL, &options));
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device);
    caps->compute_units = compute_units;
    caps->max_buffer_bytes = UINT64_MAX;
    return device;
}

static void leave(struct clf_device *device, uint64_t bytes)
{
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device);
    caps->usable_bytes += bytes - clf__device_free_bytes(device);
}

static struct clf_translator *create(struct clf_model *model, int beam)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    clf_translate_options_init(&options, model);
    assert_int_equal(options.batch_tokens, 0);
    options.beam = beam;
    options.n_best = 1;
    options.max_length = 20;
    options.subwords = 1;
    assert_ok(clf_translator_create(&translator, model, &options));
    return translator;
}

static int tokens_of(struct clf_model *model, uint64_t free_bytes, int beam)
{
    leave(model->transformer->device, free_bytes);
    struct clf_translator *translator = create(model, beam);
    int tokens = translator->engine->lanes[0].batch_tokens;
    assert_true(translator->engine->lanes[0].max_lines >= 1 &&
                translator->engine->lanes[0].max_lines <= tokens / 8);
    clf_translator_free(translator);
    return tokens;
}

/* Less memory gives smaller batches, at least 2048 tokens; beams need more memory. */
static void test_memory(void **state)
{
    (void)state;
    const uint64_t plenty = (uint64_t)80 << 30;
    struct clf_device *device = open_device(CLF_VARIANT_GPU, 132);
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    assert_int_equal(tokens_of(model, plenty, 1), 65536);
    assert_int_equal(tokens_of(model, plenty, 4), 65536);
    uint64_t bytes = plenty;
    while (tokens_of(model, bytes, 1) == 65536) {
        bytes /= 2;
    }
    assert_int_equal(tokens_of(model, bytes, 1), 32768);
    assert_true(tokens_of(model, bytes, 4) <= 32768);
    assert_true(tokens_of(model, bytes, 16) < 32768);
    assert_int_equal(tokens_of(model, 1 << 20, 16), 2048);
    clf_model_free(model);
    clf_device_close(device);
}

/* A tuned number replaces the one from the compute units in the GPU variant, and is limited by memory as
   well. */
static void test_tuned(void **state)
{
    (void)state;
    for (clf_variant variant = CLF_VARIANT_CPU; variant <= CLF_VARIANT_GPU; variant++) {
        struct clf_device *device = open_device(variant, 132);
        struct clf_model *model;
        assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
        clf__device_set_tunable(device, CLF__TUNABLE_BATCH_TOKENS, 131072);
        assert_int_equal(tokens_of(model, (uint64_t)80 << 30, 1), variant == CLF_VARIANT_CPU ? 2048 : 131072);
        clf__device_set_tunable(device, CLF__TUNABLE_BATCH_TOKENS, 4096);
        assert_int_equal(tokens_of(model, (uint64_t)80 << 30, 1), variant == CLF_VARIANT_CPU ? 2048 : 4096);
        assert_int_equal(tokens_of(model, 1 << 20, 16), 2048);
        clf_model_free(model);
        clf_device_close(device);
    }
}

static void test_cpu_variant(void **state)
{
    (void)state;
    struct clf_device *device = open_device(CLF_VARIANT_CPU, 132);
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    struct clf_translator *translator = create(model, 1);
    assert_int_equal(translator->engine->lanes[0].batch_tokens, 2048);
    assert_int_equal(translator->engine->lanes[0].max_lines, 2048 / 8);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
}

/* 512 lines of 32 tokens are one batch on a GPU with 132 compute units. */
static void test_lines_at_once(void **state)
{
    (void)state;
    enum { LINES = 512, WORDS = 31 };
    int lines = support_small() ? 32 : LINES;
    char text[WORDS * 3];
    for (int i = 0; i < WORDS; i++) {
        memcpy(text + 3 * i, i % 2 ? "w2 " : "w3 ", 3);
    }
    struct clf_line *sources = support_array(LINES, sizeof *sources);
    for (int i = 0; i < LINES; i++) {
        sources[i] = (struct clf_line){text, sizeof text - 1};
    }
    struct clf_device *device = open_device(CLF_VARIANT_GPU, 132);
    struct clf_model *model;
    struct clf_translation *results;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    struct clf_translator *translator = create(model, 1);
    assert_true(translator->engine->lanes[0].max_lines >= LINES);
    assert_ok(clf_translate(&results, translator, sources, lines));
    const struct clf_stage_times *times = clf_translator_times(translator);
    assert_int_equal(times->source_tokens, lines * (WORDS + 1));
    assert_int_equal(times->batches, 1);
    assert_int_equal(times->step_rows, times->steps * lines);
    clf_translations_free(results, lines);
    clf_translator_free(translator);
    clf_model_free(model);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_wanted, support_teardown),
        cmocka_unit_test_teardown(test_memory, support_teardown),
        cmocka_unit_test_teardown(test_tuned, support_teardown),
        cmocka_unit_test_teardown(test_cpu_variant, support_teardown),
        cmocka_unit_test_teardown(test_lines_at_once, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
