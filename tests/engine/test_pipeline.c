/* Translations with pipelined steps equal those without, bit for bit: lines that are admitted at different
 * steps, many threads, cancelled calls, several devices, and failing OpenCL calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/clformer.h>

#include "runtime/device/caps.h"
#include "runtime/opencl/testing.h"
#include "support/requests.h"
#include "support/support.h"
#include "support/threads.h"

enum { LINES = 40, THREADS = 6, ROUNDS = 6 };

static char texts[LINES][64];
static struct clf_line lines[LINES];

/* Lines of 1 to 9 words. */
static void make_lines(void)
{
    for (int i = 0; i < LINES; i++) {
        size_t used = 0;
        for (int word = 0; word <= 7 * i % 9; word++) {
            used += (size_t)snprintf(texts[i] + used, sizeof texts[i] - used, "%sw%d", word > 0 ? " " : "",
                                     2 + (3 * i + 5 * word) % 12);
        }
        lines[i] = (struct clf_line){texts[i], used};
    }
}

/* A device that counts launches. */
static struct clf_device *open_device(clf_variant variant, int steps)
{
    struct clf_device *device = support_open_profiled(variant, CLF_INSTRUCTIONS_AUTO);
    clf__device_set_tunable(device, CLF__TUNABLE_PIPELINED_STEPS, steps);
    return device;
}

static int64_t count_ahead(struct clf_device *device)
{
    return support_launches(device, "next_tokens_cpu") + support_launches(device, "next_tokens_gpu") +
           support_launches(device, "next_beams_cpu") + support_launches(device, "next_beams_gpu");
}

static struct clf_model *load(struct clf_device *device)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    return model;
}

static struct clf_translate_options greedy(const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = options.n_best = 1;
    options.max_length = 14;
    return options;
}

static struct clf_engine *create_engine(struct clf_model *const *models, int count, int batch_tokens)
{
    struct clf_engine *engine;
    struct clf_engine_options options;
    clf_engine_options_init(&options);
    options.batch_tokens = batch_tokens;
    assert_ok(clf_engine_create(&engine, models, count, &options));
    return engine;
}

static struct clf_translation *translate(struct clf_engine *engine,
                                         const struct clf_translate_options *options)
{
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create_shared(&translator, engine, options));
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    clf_translator_free(translator);
    return translations;
}

static void assert_equal(const struct clf_translation *found, const struct clf_translation *expected)
{
    for (int i = 0; i < LINES; i++) {
        assert_true(support_translations_equal(&found[i], &expected[i]));
    }
}

/* Translates all lines in batches of two sizes, with one step at a time and with two. */
static void check_options(struct clf_device *device, struct clf_model *model,
                          const struct clf_translate_options *options)
{
    clf__device_set_tunable(device, CLF__TUNABLE_PIPELINED_STEPS, 1);
    struct clf_engine *engine = create_engine(&model, 1, 0);
    int64_t before = count_ahead(device);
    struct clf_translation *expected = translate(engine, options);
    assert_int_equal(count_ahead(device), before);
    clf_engine_free(engine);
    clf__device_set_tunable(device, CLF__TUNABLE_PIPELINED_STEPS, 2);
    for (int batch_tokens = 0; batch_tokens <= 24; batch_tokens += 24) {
        engine = create_engine(&model, 1, batch_tokens);
        struct clf_translation *found = translate(engine, options);
        assert_equal(found, expected);
        clf_translations_free(found, LINES);
        clf_engine_free(engine);
    }
    assert_true(count_ahead(device) > before);
    clf_translations_free(expected, LINES);
}

static void test_options(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = open_device((clf_variant)variant, 2);
        struct clf_model *model = load(device);
        struct clf_translate_options options = greedy(model);
        check_options(device, model, &options);
        options.min_length = 9;
        check_options(device, model, &options);
        options.beam = options.n_best = 4;
        for (int stop = CLF_STOP_FALSE; stop <= CLF_STOP_CTRANSLATE2; stop++) {
            options.early_stopping = (clf_early_stopping)stop;
            options.renormalize = stop == CLF_STOP_NEVER;
            if (stop != CLF_STOP_ALL && stop != CLF_STOP_SHRINK) {
                check_options(device, model, &options);
            }
        }
        options = greedy(model);
        options.max_length = 3;
        options.min_length = 0;
        check_options(device, model, &options);
        options = greedy(model);
        options.alignment_layer = 1; /* computed at the end, in another session */
        options.max_length_factor = 1.5;
        check_options(device, model, &options);
        clf_model_free(model);
        clf_device_close(device);
    }
}

/* A thread that translates all lines several times, and interrupts every other call. */
struct caller {
    struct clf_engine *engine;
    struct clf_translate_options options;
    const struct clf_translation *expected;
    int countdown, interrupted, different;
};

static int count_down(void *user)
{
    struct caller *caller = user;
    return --caller->countdown == 0;
}

static void *call(void *user)
{
    struct caller *caller = user;
    struct clf_translator *translator;
    caller->options.interrupted = count_down;
    caller->options.payload = caller;
    if (clf_translator_create_shared(&translator, caller->engine, &caller->options) != CLF_OK) {
        caller->different++;
        return NULL;
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct clf_translation *found;
        caller->countdown = round % 2 == 1 ? 2 + round : 0;
        clf_status status = clf_translate(&found, translator, lines, LINES);
        caller->interrupted += status == CLF_INTERRUPTED;
        caller->different += status != CLF_OK && status != CLF_INTERRUPTED;
        for (int i = 0; i < LINES && status == CLF_OK; i++) {
            caller->different += !support_translations_equal(&found[i], &caller->expected[i]);
        }
        clf_translations_free(found, status == CLF_OK ? LINES : 0);
    }
    clf_translator_free(translator);
    return NULL;
}

/* The engine still pipelines steps after the threads are done, on whichever device it selects. */
static void check_idle_engine(struct clf_engine *engine, struct clf_device *const *devices,
                              struct clf_model *const *models, int count)
{
    int64_t before = 0, after = 0;
    for (int i = 0; i < count; i++) {
        before += count_ahead(devices[i]);
    }
    struct clf_translate_options options = greedy(models[0]);
    clf_translations_free(translate(engine, &options), LINES);
    for (int i = 0; i < count; i++) {
        after += count_ahead(devices[i]);
    }
    assert_true(after > before);
}

/* Threads with different lengths, every other one with beams; one bans n-grams, which stops the pipeline
 * while its lines are under search. */
static void check_threads(int devices)
{
    struct clf_device *opened[2] = {open_device(CLF_VARIANT_AUTO, 1), NULL};
    struct clf_model *models[2] = {load(opened[0]), NULL};
    struct caller callers[THREADS];
    struct clf_translation *expected[THREADS];
    pthread_t threads[THREADS];
    struct clf_engine *engine = create_engine(models, 1, 0);
    int interrupted = 0;
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.options = greedy(models[0])};
        callers[i].options.max_length = 4 + 2 * i;
        callers[i].options.beam = callers[i].options.n_best = 1 + i % 2 * i;
        callers[i].options.no_repeat_ngram_size = i == 4 ? 2 : 0;
        callers[i].expected = expected[i] = translate(engine, &callers[i].options);
    }
    clf_engine_free(engine);
    clf__device_set_tunable(opened[0], CLF__TUNABLE_PIPELINED_STEPS, 2);
    if (devices == 2) {
        opened[1] = open_device(CLF_VARIANT_AUTO, 2);
        models[1] = load(opened[1]);
    }
    engine = create_engine(models, devices, 48);
    for (int i = 0; i < THREADS; i++) {
        callers[i].engine = engine;
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].different, 0);
        interrupted += callers[i].interrupted;
        clf_translations_free(expected[i], LINES);
    }
    assert_true(interrupted > 0);
    check_idle_engine(engine, opened, models, devices);
    clf_engine_free(engine);
    for (int i = 0; i < devices; i++) {
        clf_model_free(models[i]);
        clf_device_close(opened[i]);
    }
}

static void test_threads(void **state)
{
    (void)state;
    check_threads(1);
}

static void test_devices(void **state)
{
    (void)state;
    check_threads(2);
}

/* After a failure at any OpenCL call, the engine translates the lines. */
static void test_faults(void **state)
{
    (void)state;
    struct clf_device *device = open_device(CLF_VARIANT_AUTO, 2);
    struct clf_model *model = load(device);
    struct clf_translate_options options = greedy(model);
    struct clf_engine *engine = create_engine(&model, 1, 0);
    struct clf_translation *expected = translate(engine, &options), *found;
    struct clf_translator *translator;
    uint64_t total = 1;
    int failures = 0, tries = 0;
    assert_ok(clf_translator_create_shared(&translator, engine, &options));
    for (uint64_t n = 0; n <= total; n += 1 + n / (support_small() ? 10 : 100), tries++) {
        clf__device_fail_at(n);
        clf_status status = clf_translate(&found, translator, lines, LINES);
        total = n == 0 ? clf__device_call_count() : total;
        clf__device_fail_at(0);
        failures += status != CLF_OK;
        clf_translations_free(found, status == CLF_OK ? LINES : 0);
        found = translate(engine, &options);
        assert_equal(found, expected);
        clf_translations_free(found, LINES);
    }
    assert_in_range(failures, tries / 2, tries - 1);
    clf_translations_free(expected, LINES);
    clf_translator_free(translator);
    clf_engine_free(engine);
    clf_model_free(model);
    clf_device_close(device);
}

/* GPU kernels are pipelined by default. */
static void test_switched_off(void **state)
{
    (void)state;
    struct clf_translation *expected = NULL;
    for (int off = 0; off < 2; off++) {
        setenv("CLFORMER_WITHOUT", off ? "pipeline" : "", 1);
        struct clf_device *device = open_device(CLF_VARIANT_GPU, 0);
        unsetenv("CLFORMER_WITHOUT");
        struct clf_model *model = load(device);
        struct clf_translate_options options = greedy(model);
        struct clf_engine *engine = create_engine(&model, 1, 0);
        struct clf_translation *found = translate(engine, &options);
        assert_true((count_ahead(device) > 0) == !off);
        if (off) {
            assert_equal(found, expected);
            clf_translations_free(expected, LINES);
        }
        expected = found;
        clf_engine_free(engine);
        clf_model_free(model);
        clf_device_close(device);
    }
    clf_translations_free(expected, LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_options, support_teardown),
        cmocka_unit_test_teardown(test_threads, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_faults, support_teardown),
        cmocka_unit_test_teardown(test_switched_off, support_teardown),
    };
    make_lines();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
