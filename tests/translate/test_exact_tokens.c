/* Exact tokens: a line of the tokens that a text becomes, with languages and end tokens written out, gives
 * the translation and the score of the text. */
#include <string.h>

#include <clformer/clformer.h>

#include "support/named_rows.h"
#include "support/support.h"

#include "base/memory.h"
#include "engine/source.h"
#include "model/folder.h"
#include "translate/internal.h"

enum { LONGEST = 12, LINE_BYTES = 1024 };

static const char *const texts[] = {"Je suis étudiant.", "Bonjour !", "Deux chats dorment ici."};

static void add_token(char *line, const char *token)
{
    assert_non_null(token);
    assert_true(strlen(line) + strlen(token) + 2 < LINE_BYTES);
    strcat(strcat(line, *line != '\0' ? " " : ""), token);
}

static struct clf_translator *translator_of(struct clf_model *model, const char *source, const char *target,
                                            int is_exact)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    clf_translate_options_init(&options, model);
    options.source_language = source;
    options.target_language = target;
    options.max_length = LONGEST;
    options.subwords = options.exact_tokens = is_exact;
    options.forced_first = is_exact ? -1 : options.forced_first;
    assert_ok(clf_translator_create(&translator, model, &options));
    return translator;
}

/* Writes the tokens that the model reads for a text. */
static void write_source(char *line, const struct clf_translator *translator, const char *text)
{
    const struct clf__settings *settings = translator->settings;
    struct clf__source source;
    struct clf_line input = {text, strlen(text)};
    assert_ok(clf__source_read(&source, settings, NULL, &input));
    *line = '\0';
    for (int i = 0; i < source.length; i++) {
        add_token(line, clf__tokenizer_source_token(settings->model->tokenizer, source.ids.data[i]));
    }
    clf__source_free(&source);
}

static struct clf_line line_of(const char *text)
{
    return (struct clf_line){text, strlen(text)};
}

static void check_text(struct clf_translator *plain, struct clf_translator *exact, const char *text)
{
    char source[LINE_BYTES], prefix[LINE_BYTES] = "", target[LINE_BYTES] = "";
    struct clf_translation *expected, *found;
    struct clf_score *whole, *scores;
    const struct clf_model *model = plain->settings->model;
    int32_t first = plain->settings->options.forced_first;
    struct clf_line lines[2] = {line_of(text)};
    assert_ok(clf_translate(&expected, plain, lines, 1));
    const struct clf_hypothesis *best = expected->hypotheses;
    write_source(source, plain, text);
    if (first >= 0) {
        add_token(prefix, clf_model_token(model, first));
    }
    lines[0] = line_of(source);
    lines[1] = line_of(prefix);
    assert_ok(clf_translate_prefixed(&found, exact, &lines[0], &lines[1], 1));
    assert_int_equal(found->hypotheses->count, best->count);
    assert_memory_equal(found->hypotheses->ids, best->ids, (size_t)best->count * sizeof *best->ids);
    /* The score of the whole target, and of its beginning, which has no end token. */
    for (int i = 0; i < best->count; i++) {
        add_token(target, clf_model_token(model, best->ids[i]));
    }
    lines[1] = line_of(target);
    assert_ok(clf_score(&whole, exact, &lines[0], &lines[1], 1));
    assert_int_equal(whole->count, best->count);
    assert_memory_equal(whole->ids, best->ids, (size_t)best->count * sizeof *best->ids);
    *strrchr(target, ' ') = '\0';
    lines[1] = line_of(target);
    assert_ok(clf_score(&scores, exact, &lines[0], &lines[1], 1));
    assert_int_equal(scores->count, best->count - 1);
    for (int i = 0; i < scores->count; i++) {
        assert_float_equal(scores->token_log_probabilities[i], whole->token_log_probabilities[i], 1e-5);
    }
    clf_scores_free(whole, 1);
    clf_scores_free(scores, 1);
    clf_translations_free(found, 1);
    clf_translations_free(expected, 1);
}

static void test_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *source, *target;
        const char *start; /* the target language, where it is the decoder's start token */
    } rows[] = {{"m2m100-text", "fr", "pt", NULL},
                {"nllb-text", "fra_Latn", "por_Latn", NULL},
                {"mbart-text", "fr_XX", "ro_RO", "ro_RO"}};
    int count = support_small() ? 1 : 3;
    for (int r = 0; r < count; r++) {
        struct clf_model *model;
        const char *folder = folder_copy(rows[r].folder);
        if (strcmp(rows[r].folder, "nllb-text") == 0) {
            name_rows(folder, 364, 366);
        }
        assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
        struct clf_translator *plain = translator_of(model, rows[r].source, rows[r].target, 0);
        struct clf_translator *exact = translator_of(model, NULL, rows[r].start, 1);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            check_text(plain, exact, texts[i]);
        }
        clf_translator_free(exact);
        clf_translator_free(plain);
        clf_model_free(model);
    }
}

static void test_errors(void **state)
{
    (void)state;
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translate_options options;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder_copy("m2m100-text"), NULL));
    clf_translate_options_init(&options, model);
    options.exact_tokens = 1;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "set subwords (--tokens)");
    options.subwords = 1;
    options.source_language = "fr";
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "exact tokens cannot be combined with a source language");
    clf_translate_options_init(&options, model);
    options.patience = 2.0;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "patience: 2 has no effect with this early stopping");
    translator = translator_of(model, NULL, NULL, 1);
    struct clf_line lines[] = {line_of("__fr__ </s>"), line_of("")};
    struct clf_score *scores;
    assert_ok(clf_score(&scores, translator, &lines[0], &lines[1], 1));
    assert_int_equal(scores->status, CLF_TEXT);
    assert_non_null(strstr(scores->problem, "the target has no tokens"));
    clf_scores_free(scores, 1);
    clf_translator_free(translator);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_written_out, support_teardown),
        cmocka_unit_test_teardown(test_errors, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
