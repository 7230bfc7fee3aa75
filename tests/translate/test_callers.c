/* Errors that only C callers can make: NULL pointers, callbacks that use a busy object, lists that are too
 * long. A failure sets the output object to NULL. */
#include <limits.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "support/support.h"
#include "translate/internal.h"

static const struct clf_line line = {"w2 w3 w4", 8};

static struct clf_model *load_model(void)
{
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    return model;
}

static struct clf_translate_options short_search(const struct clf_model *model)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 2;
    options.max_length = 4;
    options.subwords = 1;
    return options;
}

/* NULL objects: the result of a failed call was not checked. */
static void test_without_objects(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    int some; /* initial value of output pointers: must be replaced */
    struct clf_model *model = (void *)&some;
    assert_fails(clf_model_load(&model, NULL, support_fixture("models/marian"), NULL), CLF_BAD_ARGUMENT,
                 "device is NULL");
    assert_null(model);
    assert_fails(clf_model_load(&model, device, NULL, NULL), CLF_BAD_ARGUMENT, "folder is NULL");
    struct clf_translator *translator = (void *)&some;
    assert_fails(clf_translator_create(&translator, NULL, NULL), CLF_BAD_ARGUMENT, "model: is NULL");
    assert_null(translator);
    assert_fails(clf_translator_prepare(NULL), CLF_BAD_ARGUMENT, "translator: is NULL");
    struct clf_translation *translation = (void *)&some;
    assert_fails(clf_translate(&translation, NULL, &line, 1), CLF_BAD_ARGUMENT, "translator: is NULL");
    assert_null(translation);
    struct clf_score *score = (void *)&some;
    assert_fails(clf_score(&score, NULL, &line, &line, 1), CLF_BAD_ARGUMENT, "translator: is NULL");
    assert_null(score);
    struct clf_attention_maps *maps = (void *)&some;
    assert_fails(clf_attend(&maps, NULL, &line, NULL), CLF_BAD_ARGUMENT, "translator: is NULL");
    assert_null(maps);
}

/* Failures after the arguments were checked. */
static void test_failures_leave_null(void **state)
{
    (void)state;
    int some;
    struct clf_model *model = load_model(), *other = (void *)&some;
    assert_fails(clf_model_load(&other, support_device(CLF_VARIANT_AUTO), "/nonexistent", NULL), CLF_FILE,
                 "");
    assert_null(other);
    struct clf_translate_options options = short_search(model);
    options.beam = 0;
    struct clf_translator *translator = (void *)&some;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "");
    assert_null(translator);
    assert_ok(clf_translator_create(&translator, model, NULL));
    struct clf_translation *translation = (void *)&some;
    assert_fails(clf_translate(&translation, translator, &line, -1), CLF_BAD_ARGUMENT, "count: is -1");
    assert_null(translation);
    struct clf_score *score = (void *)&some;
    assert_fails(clf_score(&score, translator, &line, NULL, 1), CLF_BAD_ARGUMENT,
                 "the list of lines is NULL");
    assert_null(score);
    static const struct clf_line empty = {"", 0};
    struct clf_attention_maps *maps = (void *)&some;
    assert_fails(clf_attend(&maps, translator, &empty, NULL), CLF_TEXT, "the source is empty");
    assert_null(maps);
    maps = (void *)&some;
    assert_fails(clf_attend(&maps, translator, NULL, NULL), CLF_BAD_ARGUMENT, "source: is NULL");
    assert_null(maps);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* --- Callbacks. --- */

/* Uses the translator that calls it. */
struct meddler {
    struct clf_translator *translator;
    int asked, warnings;
};

static int meddle(void *user)
{
    struct meddler *meddler = user;
    struct clf_translation *translation;
    struct clf_score *score;
    struct clf_attention_maps *maps;
    const char *part = "called from its own callback";
    meddler->asked++;
    assert_fails(clf_translate(&translation, meddler->translator, &line, 1), CLF_BAD_ARGUMENT, part);
    assert_fails(clf_score(&score, meddler->translator, &line, &line, 1), CLF_BAD_ARGUMENT, part);
    assert_fails(clf_attend(&maps, meddler->translator, &line, NULL), CLF_BAD_ARGUMENT, part);
    assert_fails(clf_translator_prepare(meddler->translator), CLF_BAD_ARGUMENT, part);
    assert_true(translation == NULL && score == NULL && maps == NULL);
    clf_translator_free(meddler->translator);
    return 0;
}

static void count_warning(clf_log_level level, const char *message, void *user)
{
    struct meddler *meddler = user;
    meddler->warnings += level == CLF_LOG_WARNING && strstr(message, "was not freed") != NULL;
}

/* The result equals an undisturbed call's. */
static void test_callbacks(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_translate_options options = short_search(model);
    struct clf_translator *plain, *translator;
    struct clf_translation *expected, *translation;
    struct clf_score *expected_score, *score;
    struct clf_attention_maps *maps;
    struct meddler meddler = {NULL, 0, 0};
    assert_ok(clf_translator_create(&plain, model, &options));
    assert_ok(clf_translate(&expected, plain, &line, 1));
    assert_ok(clf_score(&expected_score, plain, &line, &line, 1));
    options.interrupted = meddle;
    options.payload = &meddler;
    assert_ok(clf_translator_create(&translator, model, &options));
    meddler.translator = translator;
    clf_log_set(count_warning, &meddler);
    assert_ok(clf_translate(&translation, translator, &line, 1));
    assert_true(meddler.asked > 1);
    assert_string_equal(translation->hypotheses[0].text, expected->hypotheses[0].text);
    int asked = meddler.asked;
    assert_ok(clf_score(&score, translator, &line, &line, 1));
    assert_true(meddler.asked > asked);
    assert_true(score->log_probability == expected_score->log_probability);
    asked = meddler.asked;
    assert_ok(clf_attend(&maps, translator, &line, NULL)); /* which translates internally */
    assert_true(meddler.asked > asked);
    assert_int_equal(meddler.warnings, meddler.asked);
    clf_log_set(NULL, NULL);
    clf_attention_maps_free(maps);
    clf_scores_free(score, 1);
    clf_scores_free(expected_score, 1);
    clf_translations_free(translation, 1);
    clf_translations_free(expected, 1);
    clf_translator_free(translator);
    clf_translator_free(plain);
    clf_model_free(model);
}

/* --- Suppressed ids. --- */

/* Duplicate ids have no further effect. */
static void test_repeated_ids(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_translate_options options = short_search(model);
    int vocabulary = model->info.target_vocabulary, count = 5 * vocabulary;
    int32_t *ids = support_array((size_t)count, sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = 7 + i % 2;
    }
    struct clf_translator *once, *repeated;
    struct clf_translation *expected, *translation;
    options.suppressed = ids;
    options.suppressed_count = 2;
    assert_ok(clf_translator_create(&once, model, &options));
    options.suppressed_count = count;
    assert_ok(clf_translator_create(&repeated, model, &options));
    assert_in_range(repeated->settings->capacity.search.banned, 3, vocabulary);
    assert_true(repeated->engine->lanes[0].max_lines > 1);
    assert_ok(clf_translate(&expected, once, &line, 1));
    assert_ok(clf_translate(&translation, repeated, &line, 1));
    assert_string_equal(translation->hypotheses[0].text, expected->hypotheses[0].text);
    clf_translations_free(translation, 1);
    clf_translations_free(expected, 1);
    clf_translator_free(repeated);
    clf_translator_free(once);
    clf_model_free(model);
}

/* A list whose size overflows together with the model's own is rejected before it is read. */
static void test_too_many_ids(void **state)
{
    (void)state;
    static const int32_t ids[] = {7, 8};
    struct clf_model *model = load_model();
    struct clf__search_options *own = &model->transformer->config.generation;
    const struct clf__search_options before = *own;
    struct clf_translate_options options = short_search(model);
    struct clf_translator *translator;
    own->suppressed = ids;
    own->suppressed_count = 2;
    options.suppressed = ids;
    options.suppressed_count = INT_MAX - 1;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "suppressed ids: 2147483646 in addition to the model's own 2 are too many");
    assert_null(translator);
    *own = before;
    clf_model_free(model);
}

static void test_unknown_precision(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_model_options options = {.size = sizeof options,
                                        .precision = (clf_precision)(CLF_PRECISION_INT8 + 1)};
    struct clf_model *model = NULL;
    assert_fails(clf_model_load(&model, device, support_fixture("models/marian"), &options), CLF_BAD_ARGUMENT,
                 "precision 5");
    assert_null(model);
}

static void test_impossible_counts(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    struct clf_translator *translator = NULL;
    options.suppressed_count = -3;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "suppressed_count: is -3");
    options.suppressed_count = 3;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "suppressed is NULL");
    assert_ok(clf_translator_create(&translator, model, NULL));
    struct clf_translation *translations = NULL;
    struct clf_score *scores = NULL;
    assert_fails(clf_translate(&translations, translator, &line, -1), CLF_BAD_ARGUMENT, "count: is -1");
    assert_fails(clf_translate(&translations, translator, NULL, 1), CLF_BAD_ARGUMENT,
                 "the list of lines is NULL");
    assert_fails(clf_score(&scores, translator, &line, &line, -1), CLF_BAD_ARGUMENT, "count: is -1");
    assert_fails(clf_score(&scores, translator, &line, NULL, 1), CLF_BAD_ARGUMENT,
                 "the list of lines is NULL");
    assert_ok(clf_translate(&translations, translator, NULL, 0));
    clf_translations_free(translations, 0);
    clf_translator_free(translator);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_unknown_precision, support_teardown),
        cmocka_unit_test_teardown(test_impossible_counts, support_teardown),
        cmocka_unit_test_teardown(test_without_objects, support_teardown),
        cmocka_unit_test_teardown(test_failures_leave_null, support_teardown),
        cmocka_unit_test_teardown(test_callbacks, support_teardown),
        cmocka_unit_test_teardown(test_repeated_ids, support_teardown),
        cmocka_unit_test_teardown(test_too_many_ids, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
