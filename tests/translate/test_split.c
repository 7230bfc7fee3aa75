/* Lines of several sentences: each is translated as by itself, and the gaps between them are kept. */
#include <string.h>

#include <clformer/clformer.h>

#include "base/log.h"
#include "base/memory.h"
#include "support/support.h"

static struct clf_model *model;

static int load(void **state)
{
    (void)state;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO),
                             CLF_SOURCE_FOLDER "/tools/models/fr-en-small", NULL));
    return 0;
}

static int unload(void **state)
{
    clf_model_free(model);
    return support_teardown(state);
}

static struct clf_translator *create(int splits)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    clf_translate_options_init(&options, model);
    options.beam = 1;
    options.split_sentences = splits;
    assert_ok(clf_translator_create(&translator, model, &options));
    return translator;
}

static struct clf_translation *translate(struct clf_translator *translator, const char *const *texts,
                                         int count)
{
    struct clf_line lines[8];
    struct clf_translation *translations;
    for (int i = 0; i < count; i++) {
        lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
    }
    assert_ok(clf_translate(&translations, translator, lines, count));
    return translations;
}

static void test_sentences(void **state)
{
    (void)state;
    static const char *const alone[] = {"Je suis étudiant.", "Il a deux chats !", "Où est M. Dupont ?"};
    static const char *const together[] = {" Je suis étudiant.  Il a deux chats !\nOù est M. Dupont ? ", "",
                                           "Je suis étudiant.", "  "};
    struct clf_translator *single = create(0), *split = create(1);
    struct clf_translation *expected = translate(single, alone, 3), *actual = translate(split, together, 4);
    const char *parts[] = {expected[0].hypotheses[0].text, expected[1].hypotheses[0].text,
                           expected[2].hypotheses[0].text};
    char *whole;
    assert_ok(clf__format(&whole, " %s  %s\n%s ", parts[0], parts[1], parts[2]));
    const struct clf_hypothesis *joined = &actual[0].hypotheses[0];
    assert_string_equal(joined->text, whole);
    int count = 0;
    double log_probability = 0;
    for (int i = 0; i < 3; i++) {
        const struct clf_hypothesis *part = &expected[i].hypotheses[0];
        assert_memory_equal(joined->ids + count, part->ids, (size_t)part->count * sizeof *part->ids);
        count += part->count;
        log_probability += part->log_probability;
    }
    assert_int_equal(joined->count, count);
    assert_float_equal(joined->log_probability, log_probability, 1e-9);
    assert_int_equal(actual[1].count, 0);
    assert_string_equal(actual[2].hypotheses[0].text, parts[0]);
    assert_int_equal(actual[3].count, 0);
    assert_int_equal(clf_translator_times(split)->lines, 4);
    clf__free(whole);
    clf_translations_free(expected, 3);
    clf_translations_free(actual, 4);
    clf_translator_free(single);
    clf_translator_free(split);
}

/* A sentence over the limit is halved until its parts fit; one without white space can only be truncated. */
static void test_long_sentences(void **state)
{
    (void)state;
    char *words = support_array(4096, 1), *letters = support_array(4096, 1);
    while (strlen(words) < 2000) {
        strcat(words, "chat ");
    }
    memset(letters, 'x', 2000);
    const char *const lines[] = {words, letters};
    struct clf_translator *split = create(1), *single = create(0);
    struct clf_translation *actual = translate(split, lines, 2), *cut = translate(single, lines, 2);
    assert_int_equal(actual[0].cut_from, 0);
    assert_true(actual[0].source_count > 256 && cut[0].source_count == 256 && cut[0].cut_from > 256);
    assert_true(actual[1].cut_from > 256);
    clf_translations_free(actual, 2);
    clf_translations_free(cut, 2);
    clf_translator_free(split);
    clf_translator_free(single);
}

static void append_sentence(int line, const struct clf_sentence *sentence, void *user)
{
    assert_ok(clf__append(user, "%d %.*s > %s\n", line, (int)sentence->source_size, sentence->source,
                          sentence->text));
}

/* Streamed in order, and not for a failed line. */
static void test_told(void **state)
{
    (void)state;
    static const char *const lines[] = {"Merci. Je suis \u00e9tudiant.", "", "Je suis. \xff Il est.",
                                        " Merci. "};
    struct clf_translate_options options;
    struct clf_translator *translator;
    char *told;
    assert_ok(clf__copy_string(&told, ""));
    clf_translate_options_init(&options, model);
    options.split_sentences = options.beam = 1;
    options.sentence_translated = append_sentence;
    options.payload = &told;
    assert_ok(clf_translator_create(&translator, model, &options));
    clf_translations_free(translate(translator, lines, 4), 4);
    assert_string_equal(
        told, "0 Merci. > Thanks.\n0 Je suis \u00e9tudiant. > I'm a student.\n3 Merci. > Thanks.\n");
    clf_translator_free(translator);
    clf__free(told);
}

static void append_links(int line, const struct clf_sentence *sentence, void *user)
{
    size_t end = 0;
    for (int i = 0; i < sentence->link_count; i++) {
        const struct clf_alignment_link *link = &sentence->links[i];
        assert_true(link->source + link->source_size <= sentence->source_size && link->source_size > 0);
        assert_true(link->text >= end && link->text_size > 0);
        end = link->text + link->text_size;
        assert_ok(clf__append(user, "%d %.*s<%.*s\n", line, (int)link->text_size, sentence->text + link->text,
                              (int)link->source_size, sentence->source + link->source));
    }
    if (end != strlen(sentence->text)) {
        fail_msg("%s\n%.*s > %s", *(char **)user, (int)sentence->source_size, sentence->source,
                 sentence->text);
    }
}

/* The hook receives which part of the source each token of a sentence is aligned with. */
static void test_links(void **state)
{
    (void)state;
    static const char *const lines[] = {" Merci. Je suis \u00e9tudiant.",
                                        "\ufb01n \u2167. Il \u2167 parle anglais."};
    struct clf_translate_options options;
    struct clf_translator *translator;
    char *links;
    assert_ok(clf__copy_string(&links, ""));
    clf_translate_options_init(&options, model);
    options.split_sentences = options.beam = 1;
    options.alignment_layer = 2;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "alignments cannot be combined with sentence splitting");
    options.sentence_translated = append_links;
    options.payload = &links;
    assert_ok(clf_translator_create(&translator, model, &options));
    struct clf_translation *translations = translate(translator, lines, 2);
    assert_null(translations[0].hypotheses[0].alignment);
    clf_translations_free(translations, 2);
    if (strstr(links, "0 Thanks<Merci\n0 .<") == NULL ||
        strstr(links, "0 student<\u00e9tudiant\n0 .<") == NULL ||
        strstr(links, "1 English<anglais\n") == NULL) { /* the tokens before are those of a normalised text */
        fail_msg("%s", links);
    }
    clf_translator_free(translator);
    clf__free(links);
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_translate_options options;
    struct clf_translator *translator;
    clf_translate_options_init(&options, NULL);
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "");
    clf_translate_options_init(&options, model);
    options.split_sentences = options.subwords = 1;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "but the input is tokens");
    options.subwords = 0;
    options.beam = options.n_best = 2;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "but n_best is above 1");
}

static void test_bad_line(void **state)
{
    (void)state;
    static const char *const lines[] = {"Je suis. \xff Il est.", "Merci."};
    struct clf_translator *split = create(1);
    struct clf_translation *actual = translate(split, lines, 2);
    assert_int_equal(actual[0].status, CLF_TEXT);
    assert_non_null(strstr(actual[0].problem, "invalid UTF-8"));
    assert_int_equal(actual[0].count, 0);
    assert_int_equal(actual[1].count, 1);
    clf_translations_free(actual, 2);
    clf_translator_free(split);
}

static int warnings;

static void count_warnings(clf_log_level level, const char *message, void *user)
{
    (void)user;
    warnings += level == CLF_LOG_WARNING && strstr(message, "several sentences") != NULL;
}

static void test_warned_once(void **state)
{
    (void)state;
    static const char *const lines[] = {"Merci.", "Je suis malade. Merci.", "Il est malade. Merci."};
    clf_log_set(count_warnings, NULL);
    for (int splits = 0; splits < 2; splits++) {
        struct clf_translator *translator = create(splits);
        warnings = 0;
        clf_translations_free(translate(translator, lines, 1), 1);
        assert_int_equal(warnings, 0);
        clf_translations_free(translate(translator, lines, 3), 3);
        clf_translations_free(translate(translator, lines, 3), 3);
        assert_int_equal(warnings, !splits);
        clf_translator_free(translator);
    }
    clf_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_long_sentences),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_bad_line),
        cmocka_unit_test(test_told),      cmocka_unit_test(test_warned_once),
        cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
