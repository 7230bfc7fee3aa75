/* The encoder cache: a source that occurs again is not encoded again, and its translation has equal bits. */
#include <string.h>

#include <clformer/clformer.h>

#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "support/requests.h"
#include "support/support.h"
#include "translate/internal.h"

enum { LINES = 13, MASKED = 12 };

static const char *const texts[LINES] = {
    "w2 w3 w4", "w5",          "w6 w7 w8 w9 w10", "w3 w3", "w4 w3 w2",           "w6 w7 w8 w9",     "w11",
    "w12 w2",   "w2 w3 w4 w5", "w13 w13 w13",     "w9 w8", "w10 w2 w3 w4 w5 w6", "w5 <blank> w6 w7"};

struct fixture {
    struct clf_model *model;
    struct clf_engine *engine;
    struct clf_translator *translator;
    struct clf_translation *expected; /* (LINES) of an engine without cache */
};

static struct clf_line line_of(int number)
{
    return (struct clf_line){texts[number], strlen(texts[number])};
}

static struct clf_translation *translate_lines(struct clf_translator *translator, int first, int count)
{
    struct clf_line lines[LINES];
    struct clf_translation *translations;
    for (int i = 0; i < count; i++) {
        lines[i] = line_of(first + i);
    }
    assert_ok(clf_translate(&translations, translator, lines, count));
    return translations;
}

static void open_engine(struct fixture *fixture, int64_t cache_bytes, int batch_tokens)
{
    struct clf_engine_options engine_options;
    struct clf_translate_options options;
    clf_engine_options_init(&engine_options);
    engine_options.cache_bytes = cache_bytes;
    engine_options.batch_tokens = batch_tokens;
    assert_ok(clf_engine_create(&fixture->engine, &fixture->model, 1, &engine_options));
    clf_translate_options_init(&options, fixture->model);
    options.subwords = options.beam = 1;
    options.max_length = 8;
    assert_ok(clf_translator_create_shared(&fixture->translator, fixture->engine, &options));
}

static void close_engine(struct fixture *fixture)
{
    clf_translator_free(fixture->translator);
    clf_engine_free(fixture->engine);
}

static void begin(struct fixture *fixture, const char *model, int64_t cache_bytes, int batch_tokens)
{
    assert_ok(
        clf_model_load(&fixture->model, support_device(CLF_VARIANT_AUTO), support_fixture(model), NULL));
    open_engine(fixture, -1, 0);
    fixture->expected = translate_lines(fixture->translator, 0, LINES);
    close_engine(fixture);
    open_engine(fixture, cache_bytes, batch_tokens);
}

static void end(struct fixture *fixture)
{
    close_engine(fixture);
    clf_translations_free(fixture->expected, LINES);
    clf_model_free(fixture->model);
}

/* Translates lines and returns how many batches were encoded. */
static int64_t count_batches(const struct fixture *fixture, int first, int count)
{
    int64_t before = clf_translator_times(fixture->translator)->batches;
    struct clf_translation *translations = translate_lines(fixture->translator, first, count);
    for (int i = 0; i < count; i++) {
        assert_true(support_translations_equal(&translations[i], &fixture->expected[first + i]));
    }
    clf_translations_free(translations, count);
    return clf_translator_times(fixture->translator)->batches - before;
}

static void test_again(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "models/marian", 0, 0);
    assert_int_equal(count_batches(&fixture, 0, 4), 1);
    assert_int_equal(count_batches(&fixture, 0, 4), 0);
    assert_int_equal(count_batches(&fixture, 2, 1), 0);
    assert_int_equal(count_batches(&fixture, 2, 4), 1); /* half are known */
    assert_int_equal(count_batches(&fixture, 2, 4), 0);
    end(&fixture);
}

/* Sources of a large batch are kept at their second occurrence. */
static void test_large_batch(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "models/marian", 0, 0);
    assert_int_equal(count_batches(&fixture, 0, LINES), 1);
    assert_int_equal(count_batches(&fixture, 0, LINES), 1);
    assert_int_equal(count_batches(&fixture, 0, LINES), 0);
    end(&fixture);
}

static void test_off(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "models/marian", -1, 0);
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    end(&fixture);
}

/* A full cache replaces the source that was not used for the longest time. */
static void test_replaced(void **state)
{
    (void)state;
    static const int lines[] = {1, 3, 0, 4, 8}; /* 18 tokens */
    struct fixture fixture;
    begin(&fixture, "models/marian", 7680, 0); /* 20 tokens */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(count_batches(&fixture, lines[i], 1), 1);
    }
    assert_int_equal(count_batches(&fixture, 1, 1), 0);
    assert_int_equal(count_batches(&fixture, 9, 1), 1);
    assert_int_equal(count_batches(&fixture, 1, 1), 0);
    assert_int_equal(count_batches(&fixture, 8, 1), 0);
    assert_int_equal(count_batches(&fixture, 3, 1), 1);
    end(&fixture);
}

/* Lines at random with a cache for a few of them; a cache that is smaller than a line keeps none. */
static void test_small(void **state)
{
    (void)state;
    struct fixture fixture;
    struct support_random random = {5};
    begin(&fixture, "models/marian", 7680, 0); /* 20 tokens */
    int64_t encoded = 0;
    for (int i = 0; i < 60; i++) {
        int line = support_integer(&random, LINES);
        encoded += count_batches(&fixture, line, 1);
        assert_int_equal(count_batches(&fixture, line, 1), 0);
    }
    assert_in_range(encoded, LINES + 1, 59);
    end(&fixture);
    begin(&fixture, "models/marian", 1, 0);
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    end(&fixture);
}

/* A source with masked tokens is not kept, and its mask does not stay. */
static void test_masked(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "models/annotated", 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count_batches(&fixture, MASKED, 1), 1);
        assert_int_equal(count_batches(&fixture, 2, 1), i == 0);
    }
    end(&fixture);
}

/* Simulates a device with this much free memory; returns the change. */
static uint64_t leave(struct clf_device *device, uint64_t bytes)
{
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device);
    uint64_t change = bytes - clf__device_free_bytes(device);
    caps->usable_bytes += change;
    caps->memory_bytes = caps->usable_bytes;
    return change;
}

/* A larger session gets the memory of the cache, which stays off if there is too little. */
static void test_gives_way(void **state)
{
    (void)state;
    enum { CACHE_BYTES = 1 << 20 };
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct fixture fixture;
    struct clf_translate_options options;
    struct clf_translator *wide;
    struct clf_translation *translation;
    struct clf_line line = line_of(0);
    begin(&fixture, "models/marian", CACHE_BYTES, 8);
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    clf_translate_options_init(&options, fixture.model);
    options.subwords = 1;
    options.beam = 64;
    options.max_length = 8;
    assert_ok(clf_translator_create_shared(&wide, fixture.engine, &options));
    uint64_t change = leave(device, 1000);
    assert_ok(clf_translate(&translation, wide, &line, 1));
    assert_int_equal(fixture.translator->engine->lanes[0].cache.bytes, 0);
    (void)count_batches(&fixture, 0, 1); /* includes the batch of the other translator */
    assert_int_equal(count_batches(&fixture, 0, 1), 1);
    leave(device, clf__device_free_bytes(device) - change);
    clf_translations_free(translation, 1);
    clf_translator_free(wide);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_again, support_teardown),
        cmocka_unit_test_teardown(test_large_batch, support_teardown),
        cmocka_unit_test_teardown(test_off, support_teardown),
        cmocka_unit_test_teardown(test_replaced, support_teardown),
        cmocka_unit_test_teardown(test_small, support_teardown),
        cmocka_unit_test_teardown(test_gives_way, support_teardown),
        cmocka_unit_test_teardown(test_masked, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
