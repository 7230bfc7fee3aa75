/* Validation translates with the model in training and gives the same result as its checkpoint. */
#include "support/digits.h"

#include <stdio.h>
#include <string.h>

#include <clformer/translator.h>

static struct {
    struct clf_device *device;
    int beam, lines;
} reload;

static int count_tokens(const char *text)
{
    int count = 1;
    for (; *text != '\0'; text++) {
        count += *text == ' ';
    }
    return count;
}

/* Options as chosen by the trainer. */
static struct clf_translate_options options_of(const struct clf_model *model,
                                               const struct clf_train_validation *validation)
{
    struct clf_translate_options options;
    int longest = 0;
    for (int i = 0; i < validation->sample_count; i++) {
        int count = count_tokens(validation->samples[i].reference) + 1;
        longest = count > longest ? count : longest;
    }
    longest += longest / 2 + 10;
    clf_translate_options_init(&options, model);
    options.beam = reload.beam;
    options.n_best = options.subwords = 1;
    options.min_length = 0;
    options.max_length = longest < options.max_length ? longest : options.max_length;
    options.length_penalty = 1;
    return options;
}

static void check_validation(const struct clf_train_validation *validation, void *user)
{
    (void)user;
    struct clf_model *model;
    struct clf_translator *translator;
    assert_ok(clf_model_load(&model, reload.device, validation->checkpoint, NULL));
    struct clf_translate_options options = options_of(model, validation);
    assert_ok(clf_translator_create(&translator, model, &options));
    for (int i = 0; i < validation->sample_count; i++) {
        const struct clf_train_sample *sample = &validation->samples[i];
        struct clf_line line = {sample->source, strlen(sample->source)};
        struct clf_translation *translation;
        assert_ok(clf_translate(&translation, translator, &line, 1));
        assert_int_equal(translation->count, 1);
        assert_string_equal(sample->translation, translation->hypotheses[0].text);
        clf_translations_free(translation, 1);
        reload.lines++;
    }
    clf_translator_free(translator);
    clf_model_free(model);
}

static void check(const char *precision, int beam)
{
    char text[8];
    struct clf_train_hooks hooks = {.size = sizeof hooks, .validated = check_validation};
    snprintf(text, sizeof text, "%d", beam);
    digits_set(task.recipe, "precision", precision);
    digits_set(task.recipe, "beam", text);
    digits_set(task.recipe, "samples", "100");
    digits_set(task.recipe, "validate-every", "20");
    digits_set(task.recipe, "max-updates", "60");
    digits_set(task.recipe, "keep-last", "4");
    reload.device = digits_device();
    reload.beam = beam;
    reload.lines = 0;
    assert_ok(clf_train(digits_device(), task.recipe, digits_output(), &hooks));
    assert_int_equal(reload.lines, 30);
}

static void test_greedy(void **state)
{
    (void)state;
    check("fp32", 1);
}

/* Training multiplies in bf16, the checkpoint in fp32. */
static void test_beam_in_bf16(void **state)
{
    (void)state;
    check("bf16", 4);
}

/* Relative position tables are rebuilt from the parameters. */
static void test_relative(void **state)
{
    (void)state;
    static const char *const relative[] = {"position_embedding_type=relative"};
    digits_set(task.recipe, "preset", "paper");
    digits_set(task.recipe, "schedule", "constant");
    assert_ok(clf_recipe_set(task.recipe, "config", relative, 1));
    check("bf16", 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {TEST(test_greedy), TEST(test_beam_in_bf16), TEST(test_relative)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
