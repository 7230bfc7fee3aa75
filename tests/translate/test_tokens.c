/* The hook `generated`: receives the tokens of a translation and the logits from which they were chosen, and
 * ends single lines. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <clformer/clformer.h>

#include "text/glossary/glossary.h"
#include "translate/demo.h"

enum { MOST = 64, NEVER = 1000, BANNED = 7 };

/* The tokens that the hook received, by line. */
struct seen {
    int32_t ids[LINES][MOST];
    double log_probabilities[LINES][MOST];
    int counts[LINES], is_over[LINES];
    int stop_line, stop_step;
    int vocabulary; /* 0: no logits */
};

static double normaliser(const float *logits, int count)
{
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) {
        largest = fmax(largest, (double)logits[i]);
    }
    for (int i = 0; i < count; i++) {
        sum += exp((double)logits[i] - largest);
    }
    return largest + log(sum);
}

static void check_logits(const struct seen *seen, const struct clf_generated_token *token)
{
    if (seen->vocabulary == 0) {
        assert_null(token->logits);
        return;
    }
    assert_int_equal(token->logit_count, seen->vocabulary);
    assert_true(token->logits[BANNED] == -FLT_MAX);
    double log_probability = (double)token->logits[token->id] - normaliser(token->logits, token->logit_count);
    /* A token of a prefix counts 0. */
    assert_true(token->log_probability == 0 || fabs(token->log_probability - log_probability) < 1e-4);
}

static int keep(int line, const struct clf_generated_token *token, void *payload)
{
    struct seen *seen = payload;
    assert_in_range(line, 0, LINES - 1);
    assert_int_equal(token->size, sizeof *token);
    assert_int_equal(token->step, seen->counts[line]);
    assert_false(seen->is_over[line]);
    check_logits(seen, token);
    seen->ids[line][token->step] = token->id;
    seen->log_probabilities[line][token->step] = token->log_probability;
    seen->counts[line]++;
    int stops = line == seen->stop_line && token->step == seen->stop_step;
    seen->is_over[line] = token->is_last || stops;
    return stops;
}

static struct clf_translate_options options_of(const struct clf_model *model, struct seen *seen, int sample)
{
    static const int32_t banned[] = {BANNED};
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    *seen = (struct seen){.stop_line = -1};
    options.beam = options.n_best = 1;
    options.max_length = 30;
    options.sample = sample;
    options.repetition_penalty = 1.1;
    options.no_repeat_ngram_size = 2;
    options.suppressed = banned;
    options.suppressed_count = 1;
    options.generated = keep;
    options.payload = seen;
    return options;
}

static void check_line(const struct clf_translation *translation, const struct seen *seen, int line)
{
    const struct clf_hypothesis *hypothesis = translation->hypotheses;
    double sum = 0;
    assert_true(seen->is_over[line]);
    assert_int_equal(hypothesis->count, seen->counts[line]);
    assert_memory_equal(hypothesis->ids, seen->ids[line],
                        (size_t)hypothesis->count * sizeof *hypothesis->ids);
    for (int i = 0; i < hypothesis->count; i++) {
        sum += seen->log_probabilities[line][i];
    }
    assert_true(fabs(sum - hypothesis->log_probability) < 1e-9);
    assert_true(fabs((double)hypothesis->score - sum) < 1e-5);
}

static const int all[] = {0, 1, 2, 3, 4};

/* The hook receives the tokens of the results, which it does not change. */
static void test_all_tokens(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int sample = 0; sample < 2; sample++) {
        struct seen seen;
        struct clf_translate_options options = options_of(model, &seen, sample);
        struct clf_translation *found = translate(model, &options, all, LINES);
        options.generated = NULL;
        struct clf_translation *plain = translate(model, &options, all, LINES);
        for (int line = 0; line < LINES; line++) {
            check_line(&found[line], &seen, line);
            assert_same(&found[line], &plain[line]);
        }
        clf_translations_free(found, LINES);
        clf_translations_free(plain, LINES);
    }
    clf_model_free(model);
}

/* A line ends with the token at which the hook ends it, whatever the device has generated meanwhile; other
 * lines do not change. */
static void test_stop(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    for (int step = 0; step < 3; step++) {
        struct seen seen;
        struct clf_translate_options options = options_of(model, &seen, step == 2);
        seen.stop_line = 4;
        seen.stop_step = NEVER;
        struct clf_translation *whole = translate(model, &options, all, LINES);
        options_of(model, &seen, 0);
        seen.stop_line = 4;
        seen.stop_step = step;
        struct clf_translation *cut = translate(model, &options, all, LINES);
        for (int line = 0; line < LINES; line++) {
            check_line(&cut[line], &seen, line);
            if (line != seen.stop_line) {
                assert_same(&cut[line], &whole[line]);
            }
        }
        const struct clf_hypothesis *last = cut[seen.stop_line].hypotheses, *longer = whole[4].hypotheses;
        assert_int_equal(last->count, step + 1);
        assert_true(longer->count > last->count);
        assert_memory_equal(last->ids, longer->ids, (size_t)last->count * sizeof *last->ids);
        assert_int_equal(strncmp(last->text, longer->text, strlen(last->text)), 0);
        clf_translations_free(whole, LINES);
        clf_translations_free(cut, LINES);
    }
    clf_model_free(model);
}

/* The logits of tokens that are chosen, and of the same tokens as a target prefix. */
static void test_logits(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct seen seen, again;
    struct clf_translate_options options = options_of(model, &seen, 0);
    struct clf_translator *translator;
    struct clf_translation *found;
    options.wants_logits = 1;
    seen.vocabulary = clf_model_describe(model)->target_vocabulary;
    clf_translations_free(translate(model, &options, all, LINES), LINES);
    /* No token occurs twice in a row of the demo model's translations, so bans hold for the prefix, too. */
    options.payload = &again;
    again = (struct seen){.stop_line = -1, .vocabulary = seen.vocabulary};
    assert_ok(clf_translator_create(&translator, model, &options));
    const struct clf_line line = {texts[0], strlen(texts[0])}, prefix = {"I'm a", 5};
    assert_ok(clf_translate_prefixed(&found, translator, &line, &prefix, 1));
    assert_true(again.log_probabilities[0][0] == 0 && again.log_probabilities[0][again.counts[0] - 1] < 0);
    check_line(found, &again, 0);
    clf_translations_free(found, 1);
    clf_translator_free(translator);
    clf_model_free(model);
}

#define REFUSE(change, part)                                                                                 \
    do {                                                                                                     \
        struct clf_translate_options options = options_of(model, &seen, 0);                                  \
        struct clf_translator *translator;                                                                   \
        change;                                                                                              \
        assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, (part));         \
    } while (0)

static void ignore_text(int line, const char *text, size_t size, void *payload)
{
    (void)line;
    (void)text;
    (void)size;
    (void)payload;
}

static void test_refusals(void **state)
{
    (void)state;
    struct clf_model *model = load_model(support_device(CLF_VARIANT_AUTO));
    struct clf_glossary *glossary;
    struct seen seen;
    assert_ok(clf__glossary_parse(&glossary, "gare\tdepot\n", 11, "terms.tsv"));
    REFUSE(options.beam = 2, "requires beam 1");
    REFUSE((options.sample = 1, options.n_best = 2), "requires n_best 1");
    REFUSE(options.alternatives = 2, "requires no alternatives");
    REFUSE(options.split_sentences = 1, "requires no sentence splitting");
    REFUSE(options.replace_unknown = 1, "requires no replacement");
    REFUSE(options.coverage_penalty = 0.1, "requires no coverage");
    REFUSE(options.glossary = glossary, "requires no glossary");
    REFUSE(options.streamed = ignore_text, "requires no hook for text");
    REFUSE((options.generated = NULL, options.wants_logits = 1), "wants_logits: requires");
    clf_glossary_free(glossary);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_all_tokens, support_teardown),
        cmocka_unit_test_teardown(test_stop, support_teardown),
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
