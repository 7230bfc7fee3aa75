/* Translation with language tokens: transformers' results for the same lines with the models of
 * tests/fixtures/models/make_languages.py. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "support/named_rows.h"
#include "support/support.h"

#include "model/folder.h"

enum { LONGEST = 19 };

static struct clf_model *load(const char *name)
{
    struct clf_model *model;
    const char *folder = folder_copy(name);
    if (strcmp(name, "nllb-text") == 0) {
        name_rows(folder, 364, 366);
    } else if (strcmp(name, "t5-text") == 0) {
        name_rows(folder, 260, 279);
    }
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    return model;
}

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static void check_ids(const int32_t *ids, int count, const json_t *expected, const char *text)
{
    int same = count == (int)json_array_size(expected);
    for (int i = 0; same && i < count; i++) {
        same = ids[i] == json_integer_value(json_array_get(expected, (size_t)i));
    }
    if (!same) {
        fail_msg("other ids than recorded for: %s", text);
    }
}

/* As a target, the translation has the log-probability of the search: forced tokens have probability 1. */
static void check_score(struct clf_translator *translator, const struct clf_line *source,
                        const struct clf_hypothesis *best, const json_t *row)
{
    struct clf_score *score;
    struct clf_line target = {best->text, strlen(best->text)};
    assert_ok(clf_score(&score, translator, source, &target, 1));
    assert_int_equal(score->status, CLF_OK);
    /* Encoding the text may give other tokens, and adds an end token that was never generated. A search,
     * unlike a score, forces the end at the greatest length. */
    int is_again = score->count == best->count && best->count < LONGEST &&
                   memcmp(score->ids, best->ids, (size_t)best->count * sizeof *best->ids) == 0;
    if (is_again) {
        assert_float_equal(score->log_probability, best->log_probability, 1e-4);
    }
    int is_forced = text_of(row, "source") != NULL && strcmp(text_of(row, "target"), "ro_RO") != 0;
    if (is_forced) {
        assert_int_equal(score->ids[0], best->ids[0]);
        assert_float_equal(score->token_log_probabilities[0], 0, 0);
    }
    clf_scores_free(score, 1);
}

static void check_row(struct clf_model *model, const json_t *row)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 4;
    options.max_length = LONGEST;
    options.source_language = text_of(row, "source");
    options.target_language = text_of(row, "target");
    struct clf_translator *translator;
    struct clf_translation *translation;
    struct clf_line line = {text_of(row, "text"), strlen(text_of(row, "text"))};
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translation, translator, &line, 1));
    assert_int_equal(translation->status, CLF_OK);
    const struct clf_hypothesis *best = &translation->hypotheses[0];
    check_ids(best->ids, best->count, json_object_get(row, "ids"), line.text);
    assert_string_equal(best->text, text_of(row, "translation"));
    check_score(translator, &line, best, row);
    clf_translations_free(translation, 1);
    clf_translator_free(translator);
}

static void test_translations(void **state)
{
    (void)state;
    const char *const *name = support_fixture_folders("models", "translated.json");
    for (; *name != NULL; name++) {
        print_message("%s\n", *name);
        struct clf_model *model = load(*name);
        char path[512];
        snprintf(path, sizeof path, "models/%s/translated.json", *name);
        json_t *rows = json_load_file(support_fixture(path), 0, NULL), *row;
        size_t index;
        assert_true(json_array_size(rows) >= 5);
        json_array_foreach(rows, index, row)
        {
            check_row(model, row);
        }
        json_decref(rows);
        clf_model_free(model);
    }
}

static void test_wrong_languages(void **state)
{
    (void)state;
    struct clf_model *model = load("nllb-text");
    struct clf_translate_options options;
    struct clf_translator *translator;
    clf_translate_options_init(&options, model);
    options.target_language = "por_Ltn";
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "did you mean \"por_Latn\"?");
    options.target_language = "pt";
    options.forced_first = 5;
    assert_fails(
        clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
        "target language \"pt\": its token comes first, but another first token (5) is forced; choose one");
    options.forced_first = -1;
    options.source_language = "zh";
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "use one of these");
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translations, support_teardown),
        cmocka_unit_test_teardown(test_wrong_languages, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
