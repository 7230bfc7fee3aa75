/* The demo model on its 500 held-out lines: ids and scores equal transformers', whatever the batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/device/caps.h"
#include "support/support.h"
#include "text/batch.h"

enum { MAX_LINES = 500 };

struct lines {
    char *text;
    struct clf_line line[MAX_LINES];
    int count;
};

static void read_lines(struct lines *lines, const char *name)
{
    size_t size;
    lines->count = 0;
    assert_ok(clf__file_read(&lines->text, &size, support_fixture(name), 1 << 24));
    for (char *at = lines->text; *at != '\0';) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        assert_true(lines->count < MAX_LINES);
        lines->line[lines->count++] = (struct clf_line){at, (size_t)(end - at)};
        at = end + 1;
    }
}

/* Number of recorded lines for a device: the GPU variant is slow on a CPU, and emulators take a few lines
 * only. */
static int lines_of(struct clf_device *device, int count)
{
    int most = support_small() ? 2 : clf__device_caps(device)->variant == CLF_VARIANT_CPU ? MAX_LINES : 60;
    return count < most ? count : most;
}

static struct clf_model *load_model_in(struct clf_device *device, clf_precision precision)
{
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, CLF_SOURCE_FOLDER "/tools/models/fr-en-small", &options));
    return model;
}

static struct clf_model *load_model(struct clf_device *device)
{
    return load_model_in(device, CLF_PRECISION_FP32);
}

static struct clf_translation *translate(struct clf_model *model, const struct clf_translate_options *options,
                                         const struct clf_line *lines, int count)
{
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, options));
    assert_ok(clf_translate(&translations, translator, lines, count));
    clf_translator_free(translator);
    return translations;
}

static void check_hypothesis(const struct clf_hypothesis *actual, const json_t *expected,
                             const char *score_key, int line, int *ties)
{
    const json_t *ids = json_object_get(expected, "ids");
    double score = json_real_value(json_object_get(expected, score_key));
    int same = actual->count == (int)json_array_size(ids);
    for (int i = 0; same && i < actual->count; i++) {
        same = actual->ids[i] == json_integer_value(json_array_get(ids, (size_t)i));
    }
    if (fabs((double)actual->score - score) > 1e-4) {
        fail_msg("line %d: score %.9g, expected %.9g; \"%s\"", line + 1, (double)actual->score, score,
                 actual->text);
    }
    if (!same) {
        print_message("line %d: a tie: \"%s\" for \"%s\"\n", line + 1, actual->text,
                      json_string_value(json_object_get(expected, "text")));
        ++*ties;
        return;
    }
    assert_string_equal(actual->text, json_string_value(json_object_get(expected, "text")));
}

/* Each line of the recorded file is an object, or an array of n_best objects. */
static void check_recorded(struct clf_device *device, const char *recorded, const char *score_key,
                           void (*choose)(struct clf_translate_options *))
{
    struct lines source, expected;
    read_lines(&source, "fr-en-small/source.fr");
    read_lines(&expected, recorded);
    int count = lines_of(device, expected.count);
    struct clf_model *model = load_model(device);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    choose(&options);
    struct clf_translation *translations = translate(model, &options, source.line, count);
    int ties = 0;
    for (int i = 0; i < count; i++) {
        json_t *json = json_loadb(expected.line[i].text, expected.line[i].size, 0, NULL);
        assert_non_null(json);
        assert_int_equal(translations[i].status, CLF_OK);
        assert_int_equal(translations[i].count, options.n_best);
        for (int n = 0; n < options.n_best; n++) {
            const json_t *one = json_is_array(json) ? json_array_get(json, (size_t)n) : json;
            check_hypothesis(&translations[i].hypotheses[n], one, score_key, i, &ties);
        }
        json_decref(json);
    }
    assert_true(ties <= 2);
    clf_translations_free(translations, count);
    clf_model_free(model);
    clf__free(source.text);
    clf__free(expected.text);
}

static void choose_greedy(struct clf_translate_options *options)
{
    options->beam = 1;
}

static void choose_own(struct clf_translate_options *options)
{
    assert_int_equal(options->beam, 4);
}

static void choose_n_best(struct clf_translate_options *options)
{
    options->beam = 5;
    options->n_best = 3;
    options->length_penalty = 0.6;
}

static void test_greedy(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_recorded(device, "fr-en-small/greedy.jsonl", "log_probability", choose_greedy);
    }
}

static void test_beam(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_recorded(device, "fr-en-small/beam4.jsonl", "score", choose_own);
    }
}

static void test_n_best(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_recorded(device, "fr-en-small/beam5_nbest3_penalty0.6_first100.jsonl", "score", choose_n_best);
    }
}

static void choose_groups(struct clf_translate_options *options)
{
    options->n_best = 4;
    options->beam_groups = 2;
    options->diversity_penalty = 0.8;
}

/* Of version 4. */
static void test_groups(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_recorded(device, "fr-en-small/groups_first30.jsonl", "score", choose_groups);
    }
}

static void assert_same(const struct clf_translation *a, const struct clf_translation *b, int line)
{
    assert_int_equal(a->count, b->count);
    for (int n = 0; n < a->count; n++) {
        const struct clf_hypothesis *x = &a->hypotheses[n], *y = &b->hypotheses[n];
        if (x->count != y->count || memcmp(x->ids, y->ids, (size_t)x->count * sizeof *x->ids) != 0 ||
            memcmp(&x->score, &y->score, sizeof x->score) != 0 ||
            memcmp(&x->log_probability, &y->log_probability, sizeof x->log_probability) != 0) {
            fail_msg("line %d: \"%s\" %.9g differs from \"%s\" %.9g in another batch", line + 1, x->text,
                     (double)x->score, y->text, (double)y->score);
        }
    }
}

/* Native GEMM: the bits of a line do not depend on other lines. */
static void check_invariance(struct clf_device *device, int beam, clf_precision precision)
{
    struct lines source;
    read_lines(&source, "fr-en-small/source.fr");
    int is_slow = clf__device_caps(device)->variant != CLF_VARIANT_CPU || precision != CLF_PRECISION_FP32;
    int count = lines_of(device, is_slow ? 20 : 60);
    struct clf_model *model = load_model_in(device, precision);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = beam;
    options.n_best = beam < 2 ? 1 : 2;
    struct clf_translation *whole = translate(model, &options, source.line, count);

    struct clf_line reversed[MAX_LINES];
    for (int i = 0; i < count; i++) {
        reversed[i] = source.line[count - 1 - i];
    }
    options.batch_tokens = 77;
    struct clf_translation *backwards = translate(model, &options, reversed, count);
    options.batch_tokens = 1; /* each line alone */
    struct clf_translation *alone = translate(model, &options, source.line, count);
    for (int i = 0; i < count; i++) {
        assert_same(&whole[i], &backwards[count - 1 - i], i);
        assert_same(&whole[i], &alone[i], i);
    }
    clf_translations_free(whole, count);
    clf_translations_free(backwards, count);
    clf_translations_free(alone, count);
    clf_model_free(model);
    clf__free(source.text);
}

/* If suppressed tokens leave fewer than n_best translations, these are returned; if they leave none, the line
 * fails. */
static void test_few_and_none_are_found(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_model *model = load_model_in(device, CLF_PRECISION_FP32);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    int count = clf_model_describe(model)->target_vocabulary;
    int32_t *ids = support_array((size_t)count, sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = i;
    }
    options.beam = options.n_best = 4;
    options.max_length = 2;
    options.suppressed = ids + 2;
    options.suppressed_count = count - 2;
    struct clf_line line = {"\303\207a va ?", 9};
    struct clf_translation *found = translate(model, &options, &line, 1);
    assert_int_equal(found->status, CLF_OK);
    assert_int_equal(found->count, 2);
    assert_true(found->hypotheses[1].count > 0);
    clf_translations_free(found, 1);
    options.suppressed = ids;
    options.suppressed_count = count;
    options.forced_last = -1;
    found = translate(model, &options, &line, 1);
    assert_int_equal(found->status, CLF_TEXT);
    assert_int_equal(found->count, 0);
    assert_non_null(strstr(found->problem, "every token is suppressed"));
    clf_translations_free(found, 1);
    clf_model_free(model);
}

/* Guaranteed only by native GEMM. */
static void test_batch_invariance(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
        check_invariance(device, 1, CLF_PRECISION_FP32);
        check_invariance(device, 4, CLF_PRECISION_FP32);
        check_invariance(device, 4, CLF_PRECISION_INT8);
        if (!support_small()) {
            check_invariance(device, 4, CLF_PRECISION_FP16);
            check_invariance(device, 4, CLF_PRECISION_BF16);
        }
    }
}

/* Rounded weights and activations change few lines (recorded of 500: none in fp16, in which the model is
 * stored, 1 in bf16, 11 in int8), and scores little. */
static const struct rounding {
    clf_precision precision;
    const char *name;
    int same;          /* minimum number of equal lines per hundred, less one */
    double difference; /* maximum mean difference of a token's log-probability */
} roundings[] = {
    {CLF_PRECISION_INT8, "int8", 94, 1e-2},
    {CLF_PRECISION_FP16, "fp16", 99, 1e-5},
    {CLF_PRECISION_BF16, "bf16", 98, 2e-3},
};

static void check_rounding(struct clf_device *device, const struct rounding *rounding)
{
    struct lines source, expected;
    read_lines(&source, "fr-en-small/source.fr");
    read_lines(&expected, "fr-en-small/greedy.jsonl");
    int count = lines_of(device, expected.count), same = 0;
    double difference = 0;
    struct clf_model *model = load_model_in(device, rounding->precision);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 1;
    struct clf_translation *translations = translate(model, &options, source.line, count);
    for (int i = 0; i < count; i++) {
        json_t *json = json_loadb(expected.line[i].text, expected.line[i].size, 0, NULL);
        const json_t *ids = json_object_get(json, "ids");
        const struct clf_hypothesis *actual = &translations[i].hypotheses[0];
        int is_same = actual->count == (int)json_array_size(ids);
        for (int k = 0; is_same && k < actual->count; k++) {
            is_same = actual->ids[k] == json_integer_value(json_array_get(ids, (size_t)k));
        }
        double score = json_real_value(json_object_get(json, "log_probability"));
        same += is_same;
        difference += is_same ? fabs((double)actual->log_probability - score) / actual->count : 0;
        json_decref(json);
    }
    print_message("%s: %d of %d lines alike, their tokens' log-probabilities differ by %g\n", rounding->name,
                  same, count, difference / (same > 0 ? same : 1));
    assert_true(same * 100 >= count * rounding->same - 100);
    assert_true(difference <= rounding->difference * same);
    clf_translations_free(translations, count);
    clf_model_free(model);
    clf__free(source.text);
    clf__free(expected.text);
}

static void test_rounding(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        size_t count = support_small() ? 1 : sizeof roundings / sizeof *roundings;
        for (size_t i = 0; i < count; i++) {
            check_rounding(device, &roundings[i]);
        }
    }
}

/* A line that repeats itself until the maximum length, among 300 short ones, some 20 at a time: the short
 * ones do not wait for it, nor for each other. */
static void check_long_line(struct clf_model *model, const struct lines *source, int count)
{
    enum { TOKENS = 160 };
    struct clf_line lines[MAX_LINES];
    memcpy(lines, source->line, (size_t)count * sizeof *lines);
    lines[count / 2] = (struct clf_line){"99999999999999999999", 20};
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 1;
    options.forced_last = -1; /* a forced token takes no row */
    options.batch_tokens = TOKENS;
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, count));
    const struct clf_stage_times *times = clf_translator_times(translator);
    int lengths[MAX_LINES], longest = 0, by_batches = 0;
    for (int i = 0; i < count; i++) {
        lengths[i] = translations[i].source_count;
    }
    struct clf__batches batches;
    assert_ok(clf__batches_plan(&batches, lengths, count, TOKENS, TOKENS / 8));
    for (int b = 0; b < batches.count; b++) {
        int slowest = 0;
        for (int i = batches.first[b]; i < batches.first[b + 1]; i++) {
            int length = translations[batches.order[i]].hypotheses[0].count;
            slowest = length > slowest ? length : slowest;
        }
        by_batches += slowest;
        longest = slowest > longest ? slowest : longest;
    }
    print_message("%d lines, the longest of %d tokens: %d rows in %d steps; batches that wait: %d steps\n",
                  count, longest, (int)times->step_rows, (int)times->steps, by_batches);
    assert_int_equal(times->step_rows, times->target_tokens); /* greedy: one row per token, none idle */
    assert_true(longest > 100 && times->steps >= longest);
    assert_true(times->steps * 4 < by_batches * 3);
    clf__batches_free(&batches);
    clf_translations_free(translations, count);
    clf_translator_free(translator);
}

static void test_a_long_line_holds_up_no_other(void **state)
{
    (void)state;
    struct lines source;
    read_lines(&source, "fr-en-small/source.fr");
    struct clf_device *device = support_device(support_first_variant());
    int count = lines_of(device, 300);
    if (count > 100) { /* otherwise no line could wait */
        struct clf_model *model = load_model(device);
        check_long_line(model, &source, count);
        clf_model_free(model);
    }
    clf__free(source.text);
    support_free_all();
}

/* Scoring a greedy translation gives the log-probability of the search, except for the ban of pad, whose
 * share is about 1e-4 in each token's softmax. */
static void test_score_agrees(void **state)
{
    (void)state;
    struct lines source;
    read_lines(&source, "fr-en-small/source.fr");
    FOR_EACH_VARIANT(device)
    {
        int count = lines_of(device, 100);
        struct clf_model *model = load_model(device);
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.beam = 1;
        struct clf_translator *translator;
        struct clf_translation *translations;
        struct clf_score *scores;
        assert_ok(clf_translator_create(&translator, model, &options));
        assert_ok(clf_translate(&translations, translator, source.line, count));
        struct clf_line targets[MAX_LINES];
        for (int i = 0; i < count; i++) {
            targets[i] = (struct clf_line){translations[i].hypotheses[0].text,
                                           strlen(translations[i].hypotheses[0].text)};
        }
        assert_ok(clf_score(&scores, translator, source.line, targets, count));
        int compared = 0;
        for (int i = 0; i < count; i++) {
            const struct clf_hypothesis *found = &translations[i].hypotheses[0];
            if (scores[i].count == found->count &&
                memcmp(scores[i].ids, found->ids, (size_t)found->count * sizeof *found->ids) == 0) {
                double raised = found->log_probability - scores[i].log_probability; /* by the ban */
                assert_true(raised > -1e-4 && raised < 5e-4 * found->count);
                compared++;
            }
        }
        assert_true(compared >= count * 9 / 10); /* encoding a text may give other tokens than were
                                                    generated */
        clf_scores_free(scores, count);
        clf_translations_free(translations, count);
        clf_translator_free(translator);
        clf_model_free(model);
    }
    clf__free(source.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_greedy, support_teardown),
        cmocka_unit_test_teardown(test_beam, support_teardown),
        cmocka_unit_test_teardown(test_n_best, support_teardown),
        cmocka_unit_test_teardown(test_groups, support_teardown),
        cmocka_unit_test_teardown(test_few_and_none_are_found, support_teardown),
        cmocka_unit_test_teardown(test_batch_invariance, support_teardown),
        cmocka_unit_test_teardown(test_rounding, support_teardown),
        cmocka_unit_test_teardown(test_a_long_line_holds_up_no_other, support_teardown),
        cmocka_unit_test_teardown(test_score_agrees, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
