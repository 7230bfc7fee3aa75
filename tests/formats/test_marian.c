/* Marian folders: each gives the results of its arithmetic in float64. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "support/support.h"

enum { LONGEST = 4096, MOST_LINES = 8 };

static char *folder_of(const char *name)
{
    char path[256], *copy;
    snprintf(path, sizeof path, "formats/marian/%s", name);
    const char *found = support_fixture(path);
    copy = support_array(strlen(found) + 1, 1);
    return strcpy(copy, found);
}

static struct clf_model *load(const char *name, clf_variant variant, clf_precision precision)
{
    struct clf_model *model;
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    assert_ok(clf_model_load(&model, support_device(variant), folder_of(name), &options));
    return model;
}

struct expected {
    json_t *lines[MOST_LINES];
    int count;
};

static struct expected read_expected(const char *name)
{
    struct expected expected = {.count = 0};
    char path[512];
    snprintf(path, sizeof path, "%s/expected.jsonl", folder_of(name));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    json_t *line;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        assert_true(expected.count < MOST_LINES);
        expected.lines[expected.count++] = line;
    }
    fclose(file);
    assert_true(expected.count > 0);
    return expected;
}

static void free_expected(struct expected *expected)
{
    for (int i = 0; i < expected->count; i++) {
        json_decref(expected->lines[i]);
    }
}

/* Ids as tokens, without the end token: from SentencePiece's model, otherwise word i + 2 is wi. */
static struct clf_line write_tokens(const struct clf_model *model, const json_t *ids)
{
    char *text = support_array(LONGEST, 1);
    size_t used = 0;
    int has_model = strncmp(clf_model_token(model, 2), "w0", 3) != 0;
    for (size_t i = 0; i + 1 < json_array_size(ids); i++) {
        int id = (int)json_integer_value(json_array_get(ids, i));
        used += has_model ? (size_t)snprintf(text + used, LONGEST - used, "%s ", clf_model_token(model, id))
                          : (size_t)snprintf(text + used, LONGEST - used, "w%d ", id - 2);
        assert_true(used < LONGEST);
    }
    return (struct clf_line){text, used};
}

static void check_hypothesis(const struct clf_hypothesis *actual, const json_t *expected, const char *what)
{
    double tolerance = 3e-5 * (double)actual->count + 1e-5;
    const json_t *ids = json_object_get(expected, "ids");
    int same = actual->count == (int)json_array_size(ids);
    for (int i = 0; same && i < actual->count; i++) {
        same = actual->ids[i] == json_integer_value(json_array_get(ids, (size_t)i));
    }
    double log_probability = json_real_value(json_object_get(expected, "log_probability"));
    double score = json_real_value(json_object_get(expected, "score"));
    if (!same || fabs(actual->log_probability - log_probability) > tolerance ||
        fabs((double)actual->score - score) > tolerance) {
        char *wanted = json_dumps(expected, JSON_COMPACT);
        fail_msg("%s: \"%s\", log-probability %.6f, score %.6f; expected %s", what, actual->text,
                 actual->log_probability, (double)actual->score, wanted);
    }
}

/* All lines at once, with one of the recorded searches. */
static void check_search(struct clf_model *model, const char *name, const char *key,
                         const struct expected *expected)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = options.n_best = strcmp(key, "greedy") == 0 ? 1 : 3;
    options.shortlist = strcmp(key, "beam_of_all") == 0 ? "none" : NULL;
    options.max_length_factor = 2.5;
    struct clf_line lines[MOST_LINES];
    for (int i = 0; i < expected->count; i++) {
        lines[i] = write_tokens(model, json_object_get(expected->lines[i], "source"));
    }
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, expected->count));
    for (int i = 0; i < expected->count; i++) {
        const json_t *hypotheses = json_object_get(expected->lines[i], key);
        char what[128];
        snprintf(what, sizeof what, "%s, %s, line %d", name, key, i + 1);
        assert_int_equal(translations[i].status, CLF_OK);
        assert_int_equal(translations[i].count, json_array_size(hypotheses));
        for (int n = 0; n < translations[i].count; n++) {
            check_hypothesis(&translations[i].hypotheses[n], json_array_get(hypotheses, (size_t)n), what);
        }
    }
    clf_translations_free(translations, expected->count);
    clf_translator_free(translator);
}

static void check_scores(struct clf_model *model, const char *name, const struct expected *expected)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    struct clf_line sources[MOST_LINES], targets[MOST_LINES];
    for (int i = 0; i < expected->count; i++) {
        sources[i] = write_tokens(model, json_object_get(expected->lines[i], "source"));
        targets[i] = write_tokens(model, json_object_get(expected->lines[i], "target"));
    }
    struct clf_translator *translator;
    struct clf_score *scores;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_score(&scores, translator, sources, targets, expected->count));
    for (int i = 0; i < expected->count; i++) {
        const json_t *wanted = json_object_get(expected->lines[i], "target_log_probabilities");
        assert_int_equal(scores[i].status, CLF_OK);
        assert_int_equal(scores[i].count, json_array_size(wanted));
        for (int t = 0; t < scores[i].count; t++) {
            double actual = (double)scores[i].token_log_probabilities[t];
            double of = json_real_value(json_array_get(wanted, (size_t)t));
            if (fabs(actual - of) > 1e-4) {
                fail_msg("%s, target %d, token %d: %.6f, expected %.6f", name, i + 1, t + 1, actual, of);
            }
        }
    }
    clf_scores_free(scores, expected->count);
    clf_translator_free(translator);
}

static void test_reference(void **state)
{
    (void)state;
    const char *const *name = support_fixture_folders("formats/marian", "expected.jsonl");
    for (; *name != NULL; name++) {
        struct expected expected = read_expected(*name);
        int has_shortlist = json_object_get(expected.lines[0], "beam_of_all") != NULL;
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_model *model = load(*name, (clf_variant)variant, CLF_PRECISION_FP32);
            check_search(model, *name, "greedy", &expected);
            check_search(model, *name, "beam", &expected);
            if (has_shortlist) {
                check_search(model, *name, "beam_of_all", &expected);
            }
            check_scores(model, *name, &expected);
            clf_model_free(model);
        }
        free_expected(&expected);
    }
}

/* A line has its own candidates: the result is the same for a single line. */
static void test_alone(void **state)
{
    (void)state;
    struct expected expected = read_expected("ssru-fork");
    struct clf_model *model = load("ssru-fork", CLF_VARIANT_AUTO, CLF_PRECISION_FP32);
    for (int i = 0; i < expected.count; i++) {
        struct expected one = {.lines = {expected.lines[i]}, .count = 1};
        check_search(model, "alone", "beam", &one);
    }
    clf_model_free(model);
    free_expected(&expected);
}

/* int8 uses the stored integers: scores of given targets stay close. */
static void check_int8(const char *name)
{
    struct expected expected = read_expected(name);
    struct clf_model *model = load(name, CLF_VARIANT_AUTO, CLF_PRECISION_INT8);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    struct clf_translator *translator;
    assert_ok(clf_translator_create(&translator, model, &options));
    for (int i = 0; i < expected.count; i++) {
        struct clf_line source = write_tokens(model, json_object_get(expected.lines[i], "source"));
        struct clf_line target = write_tokens(model, json_object_get(expected.lines[i], "target"));
        const json_t *wanted = json_object_get(expected.lines[i], "target_log_probabilities");
        struct clf_score *score;
        double sum = 0.0;
        assert_ok(clf_score(&score, translator, &source, &target, 1));
        for (size_t t = 0; t < json_array_size(wanted); t++) {
            sum += json_real_value(json_array_get(wanted, t));
        }
        assert_true(fabs(score->log_probability - sum) < 0.1 * (double)score->count);
        clf_scores_free(score, 1);
    }
    clf_translator_free(translator);
    clf_model_free(model);
    free_expected(&expected);
}

static void test_int8(void **state)
{
    (void)state;
    check_int8("ssru-fork");
    check_int8("average-last");
    check_int8("average-first");
}

/* Average attention: a line has equal bits by itself and among others. */
static void check_average(const char *name)
{
    struct expected expected = read_expected(name);
    struct clf_model *model = load(name, CLF_VARIANT_AUTO, CLF_PRECISION_FP32);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = options.n_best = 3;
    options.shortlist = "none";
    struct clf_line lines[MOST_LINES];
    for (int i = 0; i < expected.count; i++) {
        lines[i] = write_tokens(model, json_object_get(expected.lines[i], "source"));
    }
    struct clf_translator *translator;
    struct clf_translation *together;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&together, translator, lines, expected.count));
    for (int i = 0; i < expected.count; i++) {
        struct clf_translation *alone;
        assert_ok(clf_translate(&alone, translator, &lines[i], 1));
        assert_int_equal(alone->count, together[i].count);
        for (int n = 0; n < alone->count; n++) {
            const struct clf_hypothesis *a = &alone->hypotheses[n], *b = &together[i].hypotheses[n];
            assert_string_equal(a->text, b->text);
            assert_memory_equal(&a->log_probability, &b->log_probability, sizeof a->log_probability);
        }
        clf_translations_free(alone, 1);
    }
    clf_translations_free(together, expected.count);
    clf_translator_free(translator);
    clf_model_free(model);
    free_expected(&expected);
}

static void test_average(void **state)
{
    (void)state;
    check_average("average-first");
    check_average("average-deep");
    check_average("average-alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_reference, support_teardown),
        cmocka_unit_test_teardown(test_alone, support_teardown),
        cmocka_unit_test_teardown(test_int8, support_teardown),
        cmocka_unit_test_teardown(test_average, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
