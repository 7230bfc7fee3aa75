/* A call interrupted at any moment leaves nothing behind: the translator's next call is unaffected. */
#include <string.h>

#include <clformer/clformer.h>

#include "support/support.h"
#include "translate/internal.h"

enum { LINES = 12 };

static const char *const sources[LINES] = {
    "w2 w3 w4 w5 w6", "w9 w8", "w20",     "w7 w7 w7 w7", "w3 w2", "w11",
    "w4 w5 w6 w7 w8", "",      "w12 w13", "w5",          "w6 w9", "w2"};

/* Interrupts at the n-th check; 0: never. */
struct interrupt {
    int at, asked;
};

static int is_interrupted(void *user)
{
    struct interrupt *interrupt = user;
    return ++interrupt->asked == interrupt->at;
}

static clf_status translate(struct clf_translation **out, struct clf_translator *translator)
{
    struct clf_line lines[LINES];
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct clf_line){sources[i], strlen(sources[i])};
    }
    return clf_translate(out, translator, lines, LINES);
}

static void assert_same(const struct clf_translation *a, const struct clf_translation *b)
{
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(a[i].count, b[i].count);
        for (int n = 0; n < a[i].count; n++) {
            const struct clf_hypothesis *x = &a[i].hypotheses[n], *y = &b[i].hypotheses[n];
            assert_string_equal(x->text, y->text);
            assert_memory_equal(&x->log_probability, &y->log_probability, sizeof x->log_probability);
        }
    }
}

static void test_every_moment(void **state)
{
    (void)state;
    struct clf_model *model;
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    struct interrupt interrupt = {0};
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 2;
    options.max_length = 6;
    options.subwords = 1;
    options.batch_tokens = 24; /* three lines at a time */
    options.interrupted = is_interrupted;
    options.payload = &interrupt;
    struct clf_translator *translator;
    struct clf_translation *expected, *translations;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_int_equal(translator->engine->lanes[0].max_lines, 3);
    assert_ok(translate(&expected, translator));
    int moments = interrupt.asked;
    assert_true(moments > 10);
    for (int n = 1; n <= moments; n++) {
        interrupt = (struct interrupt){.at = n};
        assert_fails(translate(&translations, translator), CLF_INTERRUPTED, "interrupted");
        assert_int_equal(interrupt.asked, n);
        interrupt = (struct interrupt){0};
        assert_ok(translate(&translations, translator));
        assert_same(translations, expected);
        clf_translations_free(translations, LINES);
    }
    clf_translations_free(expected, LINES);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* Reading many lines can be interrupted; these lines need no step. */
static void test_reading(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    struct clf_model *model;
    struct clf_line *lines = support_array(MANY, sizeof *lines);
    for (int i = 0; i < MANY; i++) {
        lines[i] = (struct clf_line){"", 0};
    }
    assert_ok(
        clf_model_load(&model, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    for (int at = 0; at <= 5; at += 5) {
        struct interrupt interrupt = {.at = at};
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.subwords = 1;
        options.interrupted = is_interrupted;
        options.payload = &interrupt;
        struct clf_translator *translator;
        struct clf_translation *translations;
        assert_ok(clf_translator_create(&translator, model, &options));
        clf_status status = clf_translate(&translations, translator, lines, MANY);
        if (at == 0) {
            assert_ok(status);
            assert_true(interrupt.asked >= 7);
            clf_translations_free(translations, MANY);
        } else {
            assert_fails(status, CLF_INTERRUPTED, "interrupted");
            assert_int_equal(interrupt.asked, at);
        }
        clf_translator_free(translator);
    }
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_every_moment, support_teardown),
                                       cmocka_unit_test_teardown(test_reading, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
