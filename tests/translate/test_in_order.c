/* The callback `translated` gets every line in order, as soon as the line and all lines before it are
 * translated. */
#include <string.h>

#include <clformer/clformer.h>

#include "support/support.h"
#include "translate/internal.h"

enum { LINES = 700 };

static struct clf_line lines[LINES];

/* Makes short, long and empty lines, and one that is not UTF-8. */
static void make_lines(void)
{
    static const char words[] = "w2 w3 w4 w5 w6 w7 w8 w9 ";
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct clf_line){words, (size_t)(3 * (i * 7 % 8))};
    }
    lines[5] = (struct clf_line){"\xff", 1};
}

/* The calls of the callback so far. */
struct handed {
    const struct clf_translator *translator;
    int count;             /* number of calls */
    long long first_after; /* number of finished lines at the first call */
    int stop_at;           /* number of calls after which to interrupt; 0: never */
    char texts[LINES][128];
};

static void take(int line, const struct clf_translation *translation, void *user)
{
    struct handed *handed = user;
    assert_int_equal(line, handed->count);
    if (handed->count++ == 0) {
        handed->first_after = clf_translator_times(handed->translator)->lines;
    }
    assert_int_equal(translation->status, line == 5 ? CLF_TEXT : CLF_OK);
    for (int i = 0; i < translation->count; i++) {
        strncat(handed->texts[line], translation->hypotheses[i].text, 60);
    }
}

static int is_interrupted(void *user)
{
    const struct handed *handed = user;
    return handed->stop_at > 0 && handed->count >= handed->stop_at;
}

static struct clf_translate_options usual(const struct clf_model *model, struct handed *handed)
{
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 2;
    options.max_length = 5;
    options.subwords = 1;
    options.batch_tokens = 64;
    options.translated = take;
    options.interrupted = is_interrupted;
    options.payload = handed;
    return options;
}

/* Checks that the callback gets all results of a call. Returns the number of finished lines at its first
 * call. */
static long long check(struct clf_model *model, const struct clf_translate_options *options,
                       struct handed *handed)
{
    struct clf_translation *translations;
    struct clf_translator *translator;
    memset(handed, 0, sizeof *handed);
    assert_ok(clf_translator_create(&translator, model, options));
    handed->translator = translator;
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    assert_int_equal(handed->count, LINES);
    for (int i = 0; i < LINES; i++) {
        char text[128] = "";
        for (int k = 0; k < translations[i].count; k++) {
            strncat(text, translations[i].hypotheses[k].text, 60);
        }
        assert_string_equal(handed->texts[i], text);
    }
    clf_translations_free(translations, LINES);
    clf_translator_free(translator);
    return handed->first_after;
}

static void test_all_kinds(void **state)
{
    (void)state;
    static struct handed handed;
    struct clf_model *model;
    make_lines();
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct clf_translate_options options = usual(model, &handed);
    assert_in_range(check(model, &options, &handed), 0, 300); /* of 700: about one group */
    options.n_best = 2;
    assert_in_range(check(model, &options, &handed), 0, 300);
    options.n_best = 1;
    options.alignment_layer = 1;
    check(model, &options, &handed);
    options.alignment_layer = 0;
    options.alternatives = 2;
    check(model, &options, &handed);
    clf_model_free(model);
}

/* An interrupted call has emitted the first lines, and the next call is complete. */
static void test_interrupted(void **state)
{
    (void)state;
    static struct handed whole, handed;
    struct clf_model *model;
    struct clf_translation *translations;
    struct clf_translator *translator;
    make_lines();
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct clf_translate_options options = usual(model, &whole);
    check(model, &options, &whole);
    options.payload = &handed;
    assert_ok(clf_translator_create(&translator, model, &options));
    handed.translator = translator;
    handed.stop_at = 1;
    assert_fails(clf_translate(&translations, translator, lines, LINES), CLF_INTERRUPTED, "interrupted");
    assert_in_range(handed.count, 1, LINES / 2);
    assert_memory_equal(handed.texts, whole.texts, (size_t)handed.count * sizeof *handed.texts);
    memset(&handed, 0, sizeof handed);
    handed.translator = translator;
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    assert_memory_equal(handed.texts, whole.texts, sizeof handed.texts);
    clf_translations_free(translations, LINES);
    clf_translator_free(translator);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_all_kinds, support_teardown),
        cmocka_unit_test_teardown(test_interrupted, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
