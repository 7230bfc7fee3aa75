/* Alternatives: translations that begin with different tokens. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "translate/demo.h"

/* Alternatives are aligned completely, even if nothing continues their first tokens. */
static void test_alternatives_are_aligned(void **state)
{
    (void)state;
    static const int first[] = {0};
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int length = 1; length <= 6; length += 5) {
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.alternatives = 3;
        options.max_length = length;
        options.forced_last = -1;
        options.alignment_layer = 2;
        struct clf_translation *found = translate(model, &options, first, 1);
        assert_int_equal(found->count, 3);
        for (int i = 0; i < 3; i++) {
            assert_non_null(found->hypotheses[i].alignment);
            assert_true(found->hypotheses[i].alignment[0] >= 0);
        }
        clf_translations_free(found, 1);
    }
    clf_model_free(model);
}

/* Each alternative continues a different token, and with one beam the first equals the ordinary translation;
 * independent of other lines. */
static void check_alternatives(struct clf_model *model, struct clf_translate_options *options)
{
    static const char *const given[] = {"I am", "", "I've", "There"};
    struct clf_translator *translator, *plain;
    struct clf_translation *together, *alone, *usual;
    struct clf_line lines[4], prefixes[4];
    for (int i = 0; i < 4; i++) {
        lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
        prefixes[i] = (struct clf_line){given[i], strlen(given[i])};
    }
    assert_ok(clf_translator_create(&plain, model, options));
    options->alternatives = 3;
    options->alignment_layer = 2;
    assert_ok(clf_translator_create(&translator, model, options));
    assert_ok(clf_translate_prefixed(&together, translator, lines, prefixes, 4));
    assert_ok(clf_translate_prefixed(&usual, plain, lines, prefixes, 4));
    assert_int_equal(clf_translator_times(translator)->lines, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(together[i].count, 3);
        assert_ok(clf_translate_prefixed(&alone, translator, &lines[i], &prefixes[i], 1));
        assert_same(alone, &together[i]);
        clf_translations_free(alone, 1);
        const struct clf_hypothesis *all = together[i].hypotheses, *first = usual[i].hypotheses;
        int place = 0;
        while (all[0].ids[place] == all[1].ids[place]) {
            place++;
        }
        assert_int_not_equal(all[1].ids[place], all[2].ids[place]);
        assert_int_not_equal(all[0].ids[place], all[2].ids[place]);
        assert_memory_equal(all[0].ids, all[2].ids, (size_t)place * sizeof *all[0].ids);
        assert_int_equal(strncmp(all[2].text, given[i], strlen(given[i])), 0);
        assert_non_null(all[2].alignment);
        if (options->beam == 1) {
            assert_string_equal(all[0].text, first->text);
            assert_float_equal(all[0].log_probability, first->log_probability, 1e-4);
        }
    }
    clf_translations_free(together, 4);
    clf_translations_free(usual, 4);
    clf_translator_free(translator);
    clf_translator_free(plain);
}

static void test_alternatives(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int beam = 1; beam <= 4; beam += 3) {
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.beam = beam;
        check_alternatives(model, &options);
    }
    clf_model_free(model);
}

static clf_status run_alternatives(struct clf_model *model, const struct clf_translate_options *options)
{
    struct clf_translator *translator = NULL;
    struct clf_translation *found = NULL;
    struct clf_line line = {texts[0], strlen(texts[0])};
    clf_status status = clf_translator_create(&translator, model, options);
    if (status == CLF_OK) {
        status = clf_translate(&found, translator, &line, 1);
    }
    if (status == CLF_OK) {
        assert_int_equal(found->count, 2);
        assert_int_equal(found->hypotheses[1].ids[0], options->forced_first);
        clf_translations_free(found, 1);
    }
    clf_translator_free(translator);
    return status;
}

/* Alternatives with a replaced unknown token: an error message, and no leak. */
static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 1;
    options.max_length = 4;
    options.forced_first = clf_model_token_id(model, "<unk>");
    options.replace_unknown = 1;
    options.alternatives = 2;
    clf__memory_fail_at(0);
    assert_ok(run_alternatives(model, &options));
    uint64_t allocations = clf__memory_count();
    assert_true(allocations > 50);
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        clf_status status = run_alternatives(model, &options);
        clf__memory_fail_at(0);
        if (status != CLF_OK) { /* memory kept from earlier runs may suffice */
            assert_int_equal(status, CLF_OUT_OF_MEMORY);
        }
    }
    assert_ok(run_alternatives(model, &options));
    clf_model_free(model);
}

/* Alternatives follow the language token; if no further token is allowed, they are complete. */
static void test_alternatives_behind_a_language(void **state)
{
    (void)state;
    struct clf_model *model;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO),
                             CLF_SOURCE_FOLDER "/tests/fixtures/models/m2m100-text", NULL));
    for (int longest = 2; longest <= 6; longest += 4) {
        static const int first[] = {0};
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.target_language = "en";
        options.alternatives = 5;
        options.min_length = 0;
        options.max_length = longest;
        struct clf_translation *found = translate(model, &options, first, 1);
        assert_int_equal(found->count, 5);
        for (int i = 0; i < 5; i++) {
            const struct clf_hypothesis *one = &found->hypotheses[i];
            assert_in_range(one->count, 2, longest);
            assert_int_equal(one->ids[0], found->hypotheses[0].ids[0]);
            for (int k = 0; k < i; k++) {
                assert_int_not_equal(one->ids[1], found->hypotheses[k].ids[1]);
            }
            if (longest == 2) {
                assert_true(i == 0 || one->score <= found->hypotheses[i - 1].score);
                assert_float_equal((double)one->score, one->log_probability, 1e-5);
            }
        }
        clf_translations_free(found, 1);
    }
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_alternatives_are_aligned, support_teardown),
        cmocka_unit_test_teardown(test_alternatives, support_teardown),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, support_teardown),
        cmocka_unit_test_teardown(test_alternatives_behind_a_language, support_teardown),
    };
    return cmocka_run_group_tests_name("translate/decoding", tests, NULL, NULL);
}
