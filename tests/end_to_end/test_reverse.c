/* Training as a whole: a small model learns to reverse strings of digits, and its folder does it. */
#include "support/digits.h"

#include <stdio.h>
#include <string.h>

#include <clformer/translator.h>

#include "support/process.h"

enum { TEST_LINES = 200, LONGEST = 6 };

/* Reads the lines of a file; freed by support_free_all(). */
static void read_lines(char **lines, int count, const char *folder, const char *name)
{
    size_t size;
    char *text = process_read(folder, name, &size);
    for (int i = 0; i < count; i++) {
        lines[i] = strtok_r(text, "\n", &text);
        assert_non_null(lines[i]);
    }
}

static int count_exact(struct clf_device *device, const char *model_folder, const char *data)
{
    char *sources[TEST_LINES], *targets[TEST_LINES];
    struct clf_line lines[TEST_LINES];
    read_lines(sources, TEST_LINES, data, "test.source");
    read_lines(targets, TEST_LINES, data, "test.target");
    for (int i = 0; i < TEST_LINES; i++) {
        lines[i] = (struct clf_line){sources[i], strlen(sources[i])};
    }
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translation *translations;
    struct clf_translate_options options;
    assert_ok(clf_model_load(&model, device, model_folder, NULL));
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, TEST_LINES));
    int exact = 0;
    for (int i = 0; i < TEST_LINES; i++) {
        exact += translations[i].count > 0 && strcmp(translations[i].hypotheses[0].text, targets[i]) == 0;
    }
    clf_translations_free(translations, TEST_LINES);
    clf_translator_free(translator);
    clf_model_free(model);
    return exact;
}

static void test_digits_are_reversed(void **state)
{
    (void)state;
    const char *data = support_temporary_folder(), *output = process_format("%s/model", data);
    struct clf_device *device = support_device((clf_variant)support_first_variant());
    struct digits_log *log = support_array(1, sizeof *log);
    struct clf_train_hooks hooks = digits_hooks(log);
    digits_write(data, "train", 4000, LONGEST, 1);
    digits_write(data, "valid", 100, LONGEST, 2);
    digits_write(data, "test", TEST_LINES, LONGEST, 3);
    struct clf_recipe *recipe = digits_recipe(data);
    digits_set(recipe, "preset", "paper"); /* whose initial weights learn this in 500 updates with any seed */
    digits_set(recipe, "schedule", "inverse-sqrt");
    digits_set(recipe, "config", "d_model=64");
    digits_set(recipe, "config", "encoder_ffn_dim=128");
    digits_set(recipe, "config", "decoder_ffn_dim=128");
    digits_set(recipe, "config", "dropout=0");
    digits_set(recipe, "batch-tokens", "1000");
    digits_set(recipe, "learning-rate", "0.003");
    digits_set(recipe, "warm-up", "200");
    digits_set(recipe, "max-updates", "1500");
    digits_set(recipe, "save-every", "500");
    digits_set(recipe, "validate-every", "250");
    assert_ok(clf_train(device, recipe, output, &hooks));
    clf_recipe_free(recipe);
    for (int i = 0; i < log->validation_count; i++) {
        print_message("update %d: perplexity %.3f, BLEU %.1f\n", (int)log->validations[i].update,
                      log->validations[i].perplexity, log->validations[i].bleu);
    }
    int exact = count_exact(device, output, data);
    print_message("%d of %d strings are reversed without a fault\n", exact, TEST_LINES);
    assert_true(exact >= 198);
}

int main(void)
{
    if (support_small()) { /* emulated devices such as Oclgrind would need hours */
        print_message("left out on a device for small sizes\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_digits_are_reversed, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
