/* Glossaries with the demo model: translations contain the terms, and lines without terms do not change. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "translate/demo.h"

/* Terms of texts[1], texts[2] and texts[4]. */
static const char terms[] = "gare\trailway depot\n"
                            "cl\xc3\xa9s\tpasskeys\n"
                            "livre\ttome\n"
                            "hier\tthe day before\n"
                            "Qu\xc3\xa9"
                            "bec\tQuebec\n";
static const struct {
    int count;
    const char *items[2];
} wanted[LINES] = {
    {0, {NULL}}, {1, {"railway depot"}}, {1, {"passkeys"}}, {0, {NULL}}, {2, {"tome", "the day before"}}};

static struct clf_glossary *load_glossary(const char *text)
{
    const char *folder = support_temporary_folder();
    char path[512];
    struct clf_glossary *glossary;
    snprintf(path, sizeof path, "%s/terms.tsv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    assert_ok(clf_glossary_load(&glossary, path));
    return glossary;
}

static struct clf_translation *translate_lines(struct clf_model *model,
                                               const struct clf_translate_options *options)
{
    static const int all[LINES] = {0, 1, 2, 3, 4};
    return translate(model, options, all, LINES);
}

/* The log-probability is that of the same ids as a target. Returns 0 if its text has other ids. */
static int check_score(struct clf_model *model, int line, const struct clf_hypothesis *hypothesis)
{
    struct clf_translator *translator;
    struct clf_score *score;
    const struct clf_line source = {texts[line], strlen(texts[line])};
    const struct clf_line target = {hypothesis->text, strlen(hypothesis->text)};
    assert_ok(clf_translator_create(&translator, model, NULL));
    assert_ok(clf_score(&score, translator, &source, &target, 1));
    int is_same = score->count == hypothesis->count &&
                  memcmp(score->ids, hypothesis->ids, (size_t)score->count * sizeof *score->ids) == 0;
    assert_true(!is_same || fabs(score->log_probability - hypothesis->log_probability) <
                                1e-3 * fabs(score->log_probability));
    clf_scores_free(score, 1);
    clf_translator_free(translator);
    return is_same;
}

static void check_terms(struct clf_model *model, const struct clf_translate_options *options)
{
    struct clf_translate_options plain = *options;
    int scored = 0;
    plain.glossary = NULL;
    struct clf_translation *without = translate_lines(model, &plain), *with = translate_lines(model, options);
    for (int i = 0; i < LINES; i++) {
        struct clf_translation *alone = translate(model, options, &i, 1);
        assert_same(&with[i], alone);
        assert_int_equal(with[i].missing_count, 0);
        assert_int_equal(with[i].count, options->n_best);
        if (wanted[i].count == 0) {
            assert_same(&with[i], &without[i]);
        }
        for (int k = 0; k < wanted[i].count * options->n_best; k++) {
            const char *text = with[i].hypotheses[k / wanted[i].count].text;
            if (strstr(text, wanted[i].items[k % wanted[i].count]) == NULL) {
                fail_msg("%s: %s lacks %s", texts[i], text, wanted[i].items[k % wanted[i].count]);
            }
        }
        scored += check_score(model, i, &with[i].hypotheses[0]);
        clf_translations_free(alone, 1);
    }
    assert_true(scored > LINES / 2);
    clf_translations_free(without, LINES);
    clf_translations_free(with, LINES);
}

static void check_device(struct clf_device *device)
{
    struct clf_model *model = load_model(device);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.glossary = load_glossary(terms);
    check_terms(model, &options);
    options.n_best = 3;
    check_terms(model, &options);
    options.n_best = options.beam = 1;
    check_terms(model, &options);
    options.beam = 2;
    options.early_stopping = CLF_STOP_SHRINK;
    check_terms(model, &options);
    options.early_stopping = CLF_STOP_CTRANSLATE2;
    check_terms(model, &options);
    clf_glossary_free(options.glossary);
    clf_model_free(model);
}

static void test_terms(void **state)
{
    (void)state;
    check_device(support_device(CLF_VARIANT_AUTO));
}

static void test_gpu_kernels(void **state)
{
    (void)state;
    if (support_small() || support_last_variant() != CLF_VARIANT_GPU) {
        skip();
    }
    check_device(support_device(CLF_VARIANT_GPU));
}

/* A form of a term follows a mark without a space. A prefix may contain a term. */
static void test_places(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *found;
    static const char line[] = "Gare et (gare).", begun[] = "The depot";
    clf_translate_options_init(&options, model);
    options.glossary = load_glossary("gare\tdepot\n");
    assert_ok(clf_translator_create(&translator, model, &options));
    clf_glossary_free(options.glossary); /* the translator keeps it */
    const struct clf_line source = {line, strlen(line)}, prefix = {begun, strlen(begun)};
    assert_ok(clf_translate(&found, translator, &source, 1));
    const char *text = found->hypotheses[0].text;
    const char *first = strstr(text, "Depot"), *second = strstr(text, "depot");
    if (first == NULL || second == NULL) {
        fail_msg("%s", text);
    }
    clf_translations_free(found, 1);
    const struct clf_line one = {"La gare.", 8};
    assert_ok(clf_translate_prefixed(&found, translator, &one, &prefix, 1));
    text = found->hypotheses[0].text;
    assert_int_equal(found->missing_count, 0);
    assert_int_equal(strncmp(text, begun, strlen(begun)), 0);
    assert_null(strstr(text + strlen(begun), "depot")); /* once is enough */
    clf_translations_free(found, 1);
    clf_translator_free(translator);
    clf_model_free(model);
}

static int warnings;

static void count_warnings(clf_log_level level, const char *message, void *payload)
{
    (void)payload;
    warnings += level == CLF_LOG_WARNING && strstr(message, "lacks the glossary term") != NULL;
}

static void check_missing(struct clf_model *model, const struct clf_translate_options *options,
                          const char *line, const char *term)
{
    struct clf_translator *translator;
    struct clf_translation *found;
    const struct clf_line source = {line, strlen(line)};
    assert_ok(clf_translator_create(&translator, model, options));
    warnings = 0;
    clf_log_set(count_warnings, NULL);
    assert_ok(clf_translate(&found, translator, &source, 1));
    clf_log_set(NULL, NULL);
    assert_int_equal(found->status, CLF_OK);
    assert_int_equal(found->count, 1);
    assert_int_equal(found->missing_count, 1);
    assert_string_equal(found->missing_terms[0], term);
    assert_int_equal(warnings, 1);
    clf_translations_free(found, 1);
    clf_translator_free(translator);
}

/* A term that does not fit in the maximum length, or that the vocabulary cannot write. */
static void test_missing(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    struct clf_glossary *glossary = load_glossary("gare\ta very long railway depot\n");
    options.glossary = glossary;
    options.max_length = 3;
    check_missing(model, &options, "La gare.", "a very long railway depot");
    options.split_sentences = 1;
    check_missing(model, &options, "Oui. La gare. Non.", "a very long railway depot");
    clf_translate_options_init(&options, model);
    clf_glossary_free(glossary);
    struct clf_glossary *other = load_glossary("livre\t\xe9\x9b\xbb\n");
    options.glossary = other;
    check_missing(model, &options, "Un livre.", "\xe9\x9b\xbb");
    clf_glossary_free(other);
    clf_model_free(model);
}

/* Returns whether a text contains a term as whole words. */
static int has_words(const char *text, const char *term)
{
    for (const char *at = strstr(text, term); at != NULL; at = strstr(at + 1, term)) {
        const char *end = at + strlen(term);
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)*end)) {
            return 1;
        }
    }
    return 0;
}

/* `water`: the target of "water", in a script with or without spaces. */
static void check_folder(const char *name, const char *source, const char *target, const char *water)
{
    const char *const found_terms[] = {"green house", "Tree"};
    char text[128];
    struct clf_model *model;
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *found;
    const struct clf_line line = {"The house, (house), a tree and water.", 37};
    snprintf(text, sizeof text, "house\tgreen house\ntree\tTree\nwater\t%s\n", water);
    struct clf_glossary *glossary = load_glossary(text);
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture(name), NULL));
    clf_translate_options_init(&options, model);
    options.source_language = source;
    options.target_language = target;
    options.glossary = glossary;
    options.max_length = 60;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&found, translator, &line, 1));
    assert_int_equal(found->missing_count, 0);
    assert_non_null(strstr(found->hypotheses[0].text, water));
    for (int i = 0; i < 2; i++) {
        if (!has_words(found->hypotheses[0].text, found_terms[i])) {
            fail_msg("%s: %s", name, found->hypotheses[0].text);
        }
    }
    clf_translations_free(found, 1);
    clf_translator_free(translator);
    clf_glossary_free(glossary);
    clf_model_free(model);
}

/* Random models with tokenizers of all kinds write the terms as whole words. */
static void test_tokenizers(void **state)
{
    (void)state;
    /* Byte-level BPE: a token contains the space before it, and all characters can be written. */
    check_folder("models/bart-text", NULL, NULL, "\xe6\xb0\xb4");
    check_folder("models/t5-text", NULL, NULL, "agua");
    if (!support_small()) {
        check_folder("models/m2m100-text", "en", "fr", "agua");
        check_folder("models/mbart50-text", "en", "fr", "agua");
        check_folder("models/nllb-text", "en", "fr", "agua");
    }
}

/* Every allocation may fail: an error, or the translation. */
static void test_no_memory(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_glossary *glossary = load_glossary(terms);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.glossary = glossary;
    options.beam = 1;
    int failures = 0;
    for (uint64_t n = 1, is_over = 0; !is_over; n += support_small() ? 7 : 1) {
        struct clf_translator *translator = NULL;
        struct clf_translation *found = NULL;
        const struct clf_line source = {texts[1], strlen(texts[1])};
        clf__memory_fail_at(n);
        clf_status status = clf_translator_create(&translator, model, &options);
        if (status == CLF_OK) {
            status = clf_translate(&found, translator, &source, 1);
        }
        is_over = clf__memory_count() < n;
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        assert_true(status != CLF_OK || strstr(found->hypotheses[0].text, "railway depot") != NULL);
        failures += status != CLF_OK;
        clf_translations_free(found, 1);
        clf_translator_free(translator);
    }
    assert_true(failures > 20);
    clf_glossary_free(glossary);
    clf_model_free(model);
}

/* The terms extend the shortlist of their line. */
static void test_shortlist(void **state)
{
    (void)state;
    static const char words[] = "\xe2\x96\x81Where \xe2\x96\x81O\xc3\xb9 0.9\n"
                                "\xe2\x96\x81is \xe2\x96\x81"
                                "est 0.9\n"
                                "\xe2\x96\x81the \xe2\x96\x81la 0.9\n";
    const char *folder = support_temporary_folder();
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_glossary *glossary = load_glossary(terms);
    struct clf_translate_options options;
    char path[512];
    snprintf(path, sizeof path, "%s/lex.s2t", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(words, file) >= 0 && fclose(file) == 0);
    clf_translate_options_init(&options, model);
    options.shortlist = path;
    struct clf_translation *without = translate_lines(model, &options);
    options.glossary = glossary;
    struct clf_translation *with = translate_lines(model, &options);
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(with[i].missing_count, 0);
        if (wanted[i].count == 0) {
            assert_same(&with[i], &without[i]);
        } else {
            assert_null(strstr(without[i].hypotheses[0].text, wanted[i].items[0]));
            assert_non_null(strstr(with[i].hypotheses[0].text, wanted[i].items[0]));
        }
    }
    clf_translations_free(without, LINES);
    clf_translations_free(with, LINES);
    clf_glossary_free(glossary);
    clf_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_glossary *glossary = load_glossary(terms);
    struct clf_translate_options options;
    struct clf_translator *translator;
#define REFUSE(change, message)                                                                              \
    do {                                                                                                     \
        clf_translate_options_init(&options, model);                                                         \
        options.glossary = glossary;                                                                         \
        change;                                                                                              \
        assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, message);        \
    } while (0)
    REFUSE(options.subwords = 1, "a glossary cannot be combined with lines of tokens");
    REFUSE(options.sample = 1, "a glossary cannot be combined with sampling");
    REFUSE((options.beam_groups = 2, options.diversity_penalty = 1.0),
           "a glossary cannot be combined with beam groups");
    REFUSE((options.alternatives = 2, options.n_best = 1), "a glossary cannot be combined with alternatives");
    REFUSE(options.early_stopping = CLF_STOP_ALL, "a glossary cannot be combined with early stopping");
#undef REFUSE
    clf_glossary_free(glossary);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_terms, support_teardown),
        cmocka_unit_test_teardown(test_gpu_kernels, support_teardown),
        cmocka_unit_test_teardown(test_places, support_teardown),
        cmocka_unit_test_teardown(test_missing, support_teardown),
        cmocka_unit_test_teardown(test_tokenizers, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
        cmocka_unit_test_teardown(test_shortlist, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests_name("translate/glossary", tests, NULL, NULL);
}
