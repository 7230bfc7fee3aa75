/* Two Firefox Translations models: in fp32 the ids, text and scores of their arithmetic in float64, in int8
 * nearly so. tools/test fetches them (tools/setup_tests.sh); without them these tests are skipped. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "support/support.h"

enum { MOST_LINES = 64, LONGEST = 4096 };

struct lines {
    json_t *expected[MOST_LINES];
    char text[MOST_LINES][LONGEST];
    struct clf_line lines[MOST_LINES];
    int count;
};

static FILE *open_fixture(const char *pair, const char *end)
{
    char name[64];
    snprintf(name, sizeof name, "firefox/%s%s", pair, end);
    FILE *file = fopen(support_fixture(name), "r");
    assert_non_null(file);
    return file;
}

static struct lines *read_lines(const char *pair, const char *end)
{
    struct lines *lines = support_array(1, sizeof *lines);
    FILE *file = open_fixture(pair, end);
    while ((lines->expected[lines->count] = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        lines->count++;
        assert_true(lines->count < MOST_LINES);
    }
    fclose(file);
    assert_true(lines->count > 0);
    file = open_fixture(pair, ".txt");
    for (int i = 0; i < lines->count; i++) {
        assert_non_null(fgets(lines->text[i], LONGEST, file));
        size_t length = strcspn(lines->text[i], "\n");
        lines->lines[i] = (struct clf_line){lines->text[i], length};
    }
    fclose(file);
    return lines;
}

static void free_lines(struct lines *lines)
{
    for (int i = 0; i < lines->count; i++) {
        json_decref(lines->expected[i]);
    }
}

static struct clf_model *load(const char *pair, clf_variant variant, clf_precision precision)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/build/firefox/%s", CLF_SOURCE_FOLDER, pair);
    if (!clf__folder_exists(folder)) {
        print_message("%s: is not there; tools/test fetches it\n", folder);
        skip();
    }
    struct clf_model *model;
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    assert_ok(clf_model_load(&model, support_device(variant), folder, &options));
    return model;
}

static struct clf_translation *translate(struct clf_model *model, const struct lines *lines, int beam,
                                         const char *shortlist)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = beam;
    options.shortlist = shortlist;
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines->lines, lines->count));
    clf_translator_free(translator);
    return translations;
}

static int is_same(const struct clf_hypothesis *one, const json_t *expected)
{
    const json_t *ids = json_object_get(expected, "ids");
    int same = one->count == (int)json_array_size(ids);
    for (int i = 0; same && i < one->count; i++) {
        same = one->ids[i] == json_integer_value(json_array_get(ids, (size_t)i));
    }
    return same;
}

static void check_line(const struct clf_translation *actual, const json_t *expected, const char *what)
{
    const struct clf_hypothesis *one = &actual->hypotheses[0];
    double sum = json_real_value(json_object_get(expected, "sum_logp"));
    double score = json_real_value(json_object_get(expected, "score"));
    const char *text = json_string_value(json_object_get(expected, "text"));
    assert_int_equal(actual->status, CLF_OK);
    if (!is_same(one, expected) || (text != NULL && strcmp(text, one->text) != 0) ||
        fabs(one->log_probability - sum) > 1e-3 || fabs((double)one->score - score) > 1e-4) {
        char *wanted = json_dumps(expected, JSON_COMPACT);
        fail_msg("%s: \"%s\", log-probability %.6f, score %.6f; expected %s", what, one->text,
                 one->log_probability, (double)one->score, wanted);
    }
}

static void check_fp32(const char *pair, const char *end, int beam, const char *shortlist)
{
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_model *model = load(pair, (clf_variant)variant, CLF_PRECISION_FP32);
        struct lines *lines = read_lines(pair, end);
        struct clf_translation *translations = translate(model, lines, beam, shortlist);
        for (int i = 0; i < lines->count; i++) {
            char what[64];
            snprintf(what, sizeof what, "%s%s, line %d", pair, end, i + 1);
            check_line(&translations[i], lines->expected[i], what);
        }
        clf_translations_free(translations, lines->count);
        clf_model_free(model);
        free_lines(lines);
    }
}

static void test_fp32(void **state)
{
    (void)state;
    check_fp32("enpt", ".jsonl", 1, NULL);
    check_fp32("pten", ".jsonl", 1, NULL);
}

static void test_beam(void **state)
{
    (void)state;
    check_fp32("enpt", ".beam.jsonl", 4, "none");
}

/* Rounded activations change some words in every engine: three lines of four are equal. */
static void test_int8(void **state)
{
    (void)state;
    static const char *const pairs[] = {"enpt", "pten"};
    for (int p = 0; p < 2; p++) {
        struct clf_model *model = load(pairs[p], CLF_VARIANT_AUTO, CLF_PRECISION_INT8);
        struct lines *lines = read_lines(pairs[p], ".jsonl");
        struct clf_translation *translations = translate(model, lines, 1, NULL);
        int same = 0;
        for (int i = 0; i < lines->count; i++) {
            assert_int_equal(translations[i].status, CLF_OK);
            same += is_same(&translations[i].hypotheses[0], lines->expected[i]);
        }
        print_message("%s: %d of %d lines are the same in int8\n", pairs[p], same, lines->count);
        assert_true(4 * same >= 3 * lines->count);
        clf_translations_free(translations, lines->count);
        clf_model_free(model);
        free_lines(lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fp32, support_teardown),
        cmocka_unit_test_teardown(test_beam, support_teardown),
        cmocka_unit_test_teardown(test_int8, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
