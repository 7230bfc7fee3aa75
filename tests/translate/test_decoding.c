/* Sampling, penalties, target prefixes and streaming on the demo model: a line's samples do not depend on
 * other lines, and contradictory options are errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "translate/demo.h"

/* Together, in reverse order, two at a time, and one by one. */
static void check_batches(struct clf_model *model, struct clf_translate_options *options)
{
    static const int order[] = {0, 1, 2, 3, 4}, reversed[] = {4, 3, 2, 1, 0};
    struct clf_translation *together = translate(model, options, order, LINES);
    struct clf_translation *turned = translate(model, options, reversed, LINES);
    options->batch_tokens = 16;
    struct clf_translation *few = translate(model, options, order, LINES);
    for (int i = 0; i < LINES; i++) {
        struct clf_translation *alone = translate(model, options, &order[i], 1);
        assert_true(alone->count > 0);
        assert_same(alone, &together[i]);
        assert_same(alone, &turned[LINES - 1 - i]);
        assert_same(alone, &few[i]);
        clf_translations_free(alone, 1);
    }
    clf_translations_free(together, LINES);
    clf_translations_free(turned, LINES);
    clf_translations_free(few, LINES);
}

static void test_batch_invariance(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_model *model =
            load_model(support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO));
        for (int way = 0; way < 4; way++) {
            struct clf_translate_options options;
            clf_translate_options_init(&options, model);
            options.sample = way < 2;
            options.seed = 12345678901234;
            options.beam = way == 0 ? 1 : 3;
            options.n_best = way == 0 ? SAMPLES : 3;
            options.beam_groups = way == 3 ? 3 : 1;
            options.diversity_penalty = 0.6;
            options.top_p = 0.9;
            options.repetition_penalty = way == 0 ? 1.0 : 1.3;
            options.encoder_repetition_penalty = way == 0 ? 1.0 : 1.1;
            options.coverage_penalty = way == 1 ? 0.0 : 0.5;
            check_batches(model, &options);
        }
        clf_model_free(model);
        support_free_all();
    }
}

/* A low temperature gives the greedy translation; high ones differ, also between seeds. */
static void test_temperature(void **state)
{
    (void)state;
    static const int first[] = {0};
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    options.beam = 1;
    struct clf_translation *greedy = translate(model, &options, first, 1);
    options.sample = 1;
    options.temperature = 0.01;
    struct clf_translation *cold = translate(model, &options, first, 1);
    assert_string_equal(greedy->hypotheses[0].text, cold->hypotheses[0].text);
    options.temperature = 3.0;
    options.n_best = 2;
    struct clf_translation *hot = translate(model, &options, first, 1);
    options.seed = 1;
    struct clf_translation *other = translate(model, &options, first, 1);
    assert_int_equal(hot->count, 2);
    assert_string_not_equal(hot->hypotheses[0].text, hot->hypotheses[1].text);
    assert_string_not_equal(hot->hypotheses[0].text, other->hypotheses[0].text);
    clf_translations_free(greedy, 1);
    clf_translations_free(cold, 1);
    clf_translations_free(hot, 1);
    clf_translations_free(other, 1);
    clf_model_free(model);
}

/* A coverage penalty lowers the scores of translations by the uncovered source, but not their
 * log-probabilities; it does not change greedy translations and samples. */
static void check_coverage(struct clf_model *model)
{
    static const int order[] = {0, 1, 2, 3, 4};
    for (int samples = 0; samples < 2; samples++) {
        double lost[2] = {0.0, 0.0};
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.beam = 1;
        options.sample = samples;
        struct clf_translation *plain = translate(model, &options, order, LINES);
        for (int k = 0; k < 2; k++) {
            options.coverage_penalty = k + 1.0;
            struct clf_translation *covered = translate(model, &options, order, LINES);
            for (int i = 0; i < LINES; i++) {
                const struct clf_hypothesis *one = &plain[i].hypotheses[0],
                                            *other = &covered[i].hypotheses[0];
                assert_string_equal(one->text, other->text);
                assert_true(one->log_probability == other->log_probability && other->score < one->score);
                lost[k] += (double)one->score - (double)other->score;
            }
            clf_translations_free(covered, LINES);
        }
        assert_true(fabs(lost[1] - 2.0 * lost[0]) < 1e-4);
        clf_translations_free(plain, LINES);
    }
    clf_model_free(model);
}

static void test_coverage(void **state)
{
    (void)state;
    check_coverage(load_in(CLF_PRECISION_FP32, support_device(CLF_VARIANT_AUTO)));
    check_coverage(load_in(CLF_PRECISION_INT8, support_device(CLF_VARIANT_AUTO))); /* looks at halves */
}

/* A prefix is not the model's choice: it adds nothing to scores, and the rest follows from it. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const given[] = {"I am", "", "I've", "There"};
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int beam = 1; beam <= 4; beam += 3) {
        struct clf_translate_options options;
        struct clf_translator *translator;
        struct clf_translation *together, *alone, *plain;
        struct clf_line lines[4], prefixes[4];
        clf_translate_options_init(&options, model);
        options.beam = beam;
        assert_ok(clf_translator_create(&translator, model, &options));
        for (int i = 0; i < 4; i++) {
            lines[i] = (struct clf_line){texts[i], strlen(texts[i])};
            prefixes[i] = (struct clf_line){given[i], strlen(given[i])};
        }
        assert_ok(clf_translate_prefixed(&together, translator, lines, prefixes, 4));
        assert_ok(clf_translate(&plain, translator, lines, 4));
        for (int i = 0; i < 4; i++) {
            assert_ok(clf_translate_prefixed(&alone, translator, &lines[i], &prefixes[i], 1));
            assert_same(alone, &together[i]);
            const char *text = alone->hypotheses[0].text;
            assert_int_equal(strncmp(text, given[i], strlen(given[i])), 0);
            clf_translations_free(alone, 1);
        }
        assert_same(&together[1], &plain[1]);
        clf_translations_free(together, 4);
        clf_translations_free(plain, 4);
        clf_translator_free(translator);
    }
    clf_model_free(model);
}

/* A prefix is kept completely, however short the limit for its source. */
static void test_prefix_beyond_the_factor(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int beam = 1; beam <= 4; beam += 3) {
        struct clf_translate_options options;
        struct clf_translator *translator;
        struct clf_translation *found;
        struct clf_line line = {texts[0], strlen(texts[0])}, prefix = {"There is a book", 15};
        clf_translate_options_init(&options, model);
        options.beam = beam;
        options.max_length_factor = 0.2;
        assert_ok(clf_translator_create(&translator, model, &options));
        assert_ok(clf_translate_prefixed(&found, translator, &line, &prefix, 1));
        assert_int_equal(found->status, CLF_OK);
        assert_int_equal(strncmp(found->hypotheses[0].text, prefix.text, prefix.size), 0);
        clf_translations_free(found, 1);
        clf_translator_free(translator);
    }
    clf_model_free(model);
}

/* However large the end token's score becomes, it stays the largest. */
static void test_decay_beyond_floats(void **state)
{
    (void)state;
    static const int first[] = {0};
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int sample = 0; sample <= 1; sample++) {
        for (int beam = 1; beam <= 3; beam += 2) {
            struct clf_translate_options options;
            clf_translate_options_init(&options, model);
            options.beam = beam;
            options.sample = sample;
            options.min_length = 12;
            options.max_length = 20;
            options.length_decay_factor = 1e6;
            struct clf_translation *found = translate(model, &options, first, 1);
            assert_true(found[0].hypotheses[0].count <= 13);
            clf_translations_free(found, 1);
        }
    }
    clf_model_free(model);
}

/* Text streamed to a callback, by line. */
struct heard {
    char text[LINES][4096];
    int tokens;
};

static void hear(int line, const char *text, size_t size, void *user)
{
    struct heard *heard = user;
    size_t used = strlen(heard->text[line]);
    assert_in_range(line, 0, LINES - 1);
    assert_true(size > 0 && used + size < sizeof heard->text[line]);
    assert_int_equal(clf__utf8_valid_prefix(text, size), size); /* never a partial character */
    memcpy(heard->text[line] + used, text, size);
    heard->text[line][used + size] = '\0';
    heard->tokens++;
}

/* The streamed parts form the translation for every tokenizer; random models produce bytes, too. */
static void test_streaming(void **state)
{
    (void)state;
    static const char *const folders[] = {
        "tools/models/fr-en-small", "tests/fixtures/models/bart-text", "tests/fixtures/models/m2m100-text",
        "tests/fixtures/models/t5-text", "tests/fixtures/models/mbart50-text"};
    static const int all[] = {0, 1, 2, 3, 4};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[512];
        struct clf_model *model;
        snprintf(path, sizeof path, CLF_SOURCE_FOLDER "/%s", folders[i]);
        assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), path, NULL));
        int tokens = 0;
        for (int seed = 0; seed < 8; seed++) {
            struct clf_translate_options options;
            struct heard heard = {.tokens = 0};
            clf_translate_options_init(&options, model);
            options.beam = options.n_best = 1;
            options.sample = seed > 0;
            options.seed = (uint64_t)seed;
            options.temperature = 2.0;
            options.streamed = hear;
            options.payload = &heard;
            struct clf_translation *translations = translate(model, &options, all, LINES);
            for (int line = 0; line < LINES; line++) {
                assert_string_equal(heard.text[line], translations[line].hypotheses[0].text);
            }
            tokens += heard.tokens;
            clf_translations_free(translations, LINES);
        }
        print_message("%s: %d tokens\n", folders[i], tokens);
        assert_true(tokens > 2 * 8 * LINES);
        clf_model_free(model);
    }
}

#define REFUSE(change, part)                                                                                 \
    do {                                                                                                     \
        struct clf_translate_options options;                                                                \
        struct clf_translator *translator;                                                                   \
        clf_translate_options_init(&options, model);                                                         \
        options.beam = 1;                                                                                    \
        options.sample = 1;                                                                                  \
        change;                                                                                              \
        assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, (part));         \
    } while (0)

static void test_bad_values(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    REFUSE(options.temperature = 0, "temperature: 0");
    REFUSE(options.temperature = -1, "temperature: -1");
    REFUSE(options.top_k = -2, "top k: -2");
    REFUSE(options.top_p = 1.01, "top p: 1.01");
    REFUSE(options.typical_p = 0, "typical p: 0");
    REFUSE(options.n_best = 200, "n-best: 200 is out of range; use 1 to 128 samples");
    REFUSE(options.alignment_layer = 4, "alignment layer: 4 is out of range; use 1 to 3");
    REFUSE(options.alignment_layer = -1, "alignment layer: -1");
    REFUSE((options.alignment_layer = 1, options.split_sentences = 1),
           "alignments cannot be combined with sentence splitting");
    REFUSE(options.alternatives = -1, "alternatives: -1 is out of range; use 1 to 128");
    REFUSE(options.alternatives = 129, "alternatives: 129");
    REFUSE(options.alternatives = 2, "alternatives cannot be combined with sampling");
    REFUSE((options.alternatives = 2, options.n_best = 2), "cannot be combined with n-best above 1");
    REFUSE((options.alternatives = 2, options.sample = 0, options.split_sentences = 1),
           "cannot be combined with sentence splitting");
    REFUSE((options.alternatives = 2, options.sample = 0, options.streamed = hear),
           "cannot be combined with streaming");
    REFUSE((options.replace_unknown = 1, options.streamed = hear),
           "unknown tokens cannot be combined with streaming");
    REFUSE((options.streamed = hear, options.beam = 2), "streaming requires beam 1 (currently 2)");
    REFUSE((options.streamed = hear, options.n_best = 3), "n_best 1 (currently 3)");
    REFUSE(options.repetition_penalty = 0, "repetition penalty 0");
    REFUSE((options.sample = 0, options.beam = 3, options.beam_groups = 2),
           "beam size: 3 beams cannot be divided into 2 groups of equal size; change one of them, or use 1 "
           "group");
    REFUSE((options.sample = 0, options.beam = 4, options.beam_groups = 2), "diversity penalty: 0");
    REFUSE((options.beam = options.beam_groups = 2, options.diversity_penalty = 1), "combined with sampling");
    REFUSE((options.sample = 0, options.beam = options.beam_groups = 2, options.diversity_penalty = 1,
            options.early_stopping = CLF_STOP_SHRINK),
           "\"shrink\"");
    REFUSE(options.beam_groups = -1, "beam groups: -1 is negative; use 1 for no groups");
    REFUSE(options.coverage_penalty = INFINITY, "coverage penalty: inf");
    REFUSE((options.coverage_penalty = 1, options.sample = 0, options.early_stopping = CLF_STOP_ALL),
           "\"all\" cannot be combined with a coverage penalty");
    REFUSE(options.length_decay_factor = 0, "length decay: factor 0 or start 0 is out of range; use a "
                                            "factor above 0 (1 disables it) and a start of 0 or more");
    REFUSE((options.length_decay_start = -1, options.length_decay_factor = 1.1), "start -1");
    REFUSE(options.encoder_repetition_penalty = -2, "encoder repetition penalty -2");
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_decay_beyond_floats, support_teardown),
        cmocka_unit_test_teardown(test_batch_invariance, support_teardown),
        cmocka_unit_test_teardown(test_temperature, support_teardown),
        cmocka_unit_test_teardown(test_coverage, support_teardown),
        cmocka_unit_test_teardown(test_prefixes, support_teardown),
        cmocka_unit_test_teardown(test_prefix_beyond_the_factor, support_teardown),
        cmocka_unit_test_teardown(test_streaming, support_teardown),
        cmocka_unit_test_teardown(test_bad_values, support_teardown),
    };
    return cmocka_run_group_tests_name("translate/decoding", tests, NULL, NULL);
}
