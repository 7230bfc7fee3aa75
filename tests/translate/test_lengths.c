/* A folder without a length limit: sessions are sized for usual lines and grow with longer ones, which
 * changes no result. */
#include <string.h>

#include <clformer/clformer.h>

#include "runtime/device/buffer.h"
#include "support/support.h"
#include "translate/internal.h"

enum { LONG_WORDS = 4500, BYTES_OF_A_WORD = 4 };

static const char short_text[] = "Je suis \xc3\xa9tudiant.";
static char long_text[LONG_WORDS * BYTES_OF_A_WORD];

static struct clf_translator *create(struct clf_model *model)
{
    struct clf_translator *translator;
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.max_length = 8;
    assert_ok(clf_translator_create(&translator, model, &options));
    return translator;
}

static void translate(struct clf_hypothesis *best, struct clf_translation **kept,
                      struct clf_translator *translator, const char *text)
{
    const struct clf_line line = {text, strlen(text)};
    assert_ok(clf_translate(kept, translator, &line, 1));
    assert_int_equal((*kept)->status, CLF_OK);
    *best = (*kept)->hypotheses[0];
}

static void assert_same(struct clf_translator *a, struct clf_translator *b, const char *text)
{
    struct clf_translation *kept[2];
    struct clf_hypothesis best[2];
    translate(&best[0], &kept[0], a, text);
    translate(&best[1], &kept[1], b, text);
    assert_int_equal(best[0].count, best[1].count);
    assert_memory_equal(best[0].ids, best[1].ids, (size_t)best[0].count * sizeof *best[0].ids);
    assert_true(best[0].score == best[1].score);
    clf_translations_free(kept[0], 1);
    clf_translations_free(kept[1], 1);
}

static double score(struct clf_translator *translator, const char *source)
{
    const struct clf_line lines[2] = {{source, strlen(source)}, {short_text, strlen(short_text)}};
    struct clf_score *scores;
    assert_ok(clf_score(&scores, translator, &lines[0], &lines[1], 1));
    assert_int_equal(scores->status, CLF_OK);
    double log_probability = scores->log_probability;
    clf_scores_free(scores, 1);
    return log_probability;
}

static int set_up_text(void **state)
{
    (void)state;
    for (int i = 0; i < LONG_WORDS; i++) {
        memcpy(long_text + BYTES_OF_A_WORD * i, "une ", BYTES_OF_A_WORD);
    }
    long_text[sizeof long_text - 1] = '\0';
    return 0;
}

static void test_growth(void **state)
{
    (void)state;
    enum { MOST_BYTES = 64 << 20 };
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture("models/t5-text"), NULL));
    assert_true(clf_model_describe(model)->max_source_length > LONG_WORDS);
    uint64_t before = clf__device_free_bytes(device);
    struct clf_translator *grown = create(model), *fresh = create(model);
    struct clf_translation *kept;
    struct clf_hypothesis best;
    translate(&best, &kept, grown, short_text);
    clf_translations_free(kept, 1);
    assert_true(before - clf__device_free_bytes(device) < MOST_BYTES);
    int length = grown->engine->lanes[0].source_length;
    assert_true(length < LONG_WORDS);
    assert_same(grown, fresh, long_text);
    assert_true(grown->engine->lanes[0].source_length > length);
    assert_same(grown, fresh, short_text);
    clf_translator_free(fresh);
    fresh = create(model);
    assert_true(score(grown, short_text) == score(fresh, short_text));
    assert_true(score(grown, long_text) == score(fresh, long_text));
    clf_translator_free(grown);
    clf_translator_free(fresh);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_growth, set_up_text, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
