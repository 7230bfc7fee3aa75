/* Fine-tuning a model: its folder is needed at the start, and not afterwards. */
#include "support/digits.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "support/process.h"

/* Creates a model with a different preset, after two updates. */
static const char *make_model(void)
{
    const char *folder = digits_output();
    digits_set(task.recipe, "preset", "annotated");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "max-updates", "2");
    assert_ok(digits_train(folder, task.logs));
    return folder;
}

/* A recipe of `updates` updates that fine-tunes that model. */
static void tune(const char *from, const char *updates)
{
    clf_recipe_free(task.recipe);
    assert_ok(clf_recipe_create(&task.recipe));
    const char *const files[] = {process_format("%s/train.source", task.data),
                                 process_format("%s/train.target", task.data)};
    assert_ok(clf_recipe_set(task.recipe, "train", files, 2));
    digits_set(task.recipe, "tokens", "true");
    digits_set(task.recipe, "config", "dropout=0.20");
    digits_set(task.recipe, "max-updates", updates);
    digits_set(task.recipe, "warm-up", "1");
    digits_set(task.recipe, "from", from);
}

/* The folder is named, its preset kept, and the same command resumes. */
static void test_fine_tuning(void **state)
{
    (void)state;
    const char *first = make_model(), *output = digits_output(), *nowhere = digits_output();
    tune(nowhere, "2");
    assert_fails(digits_train(output, task.logs), CLF_FILE, process_format("from: %s: no such", nowhere));
    digits_set(task.recipe, "from", first);
    assert_fails(digits_train(process_format("%s/.", first), task.logs), CLF_BAD_ARGUMENT,
                 "is also the folder of from; choose another folder for the model");
    assert_ok(digits_train(output, task.logs));
    digits_set(task.recipe, "max-updates", "3");
    assert_ok(digits_train(output, task.logs));
    assert_int_equal(task.logs->start.first_update, 3);
    size_t size;
    const char *recipe = process_read(output, "recipe.json", &size);
    assert_non_null(strstr(recipe, "\"annotated\""));
    assert_non_null(strstr(recipe, "\"kl\""));
    assert_ok(clf_recipe_load(task.recipe, process_format("%s/recipe.json", output)));
    assert_ok(digits_train(digits_output(), task.logs));
}

/* The checkpoint contains everything from the folder, which may change or disappear. */
static void test_going_on_without_the_folder(void **state)
{
    (void)state;
    const char *from = make_model(), *whole = digits_output(), *output = digits_output();
    const char *moved = digits_output();
    tune(from, "4");
    assert_ok(digits_train(whole, &task.logs[0]));
    tune(from, "2");
    assert_ok(digits_train(output, &task.logs[1]));
    process_write(from, "config.json", "{\"model_type\": \"marian\"}", 24); /* damaged */
    tune(from, "3");
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(rename(from, moved), 0);
    tune(from, "4");
    assert_ok(digits_train(output, &task.logs[1]));
    digits_assert_same_updates(&task.logs[1], &task.logs[0], 4);
    /* Another folder is another model, whether it exists or not. */
    tune(moved, "5");
    assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT,
                 process_format("from: is %s, but %s was started with %s; use that", moved, output, from));
    digits_set(task.recipe, "from", from);
    digits_set(task.recipe, "preset", "speech");
    assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT, "preset: is speech, but ");
    /* A new run needs it. */
    tune(from, "5");
    assert_fails(digits_train(digits_output(), task.logs), CLF_FILE, "no such folder");
    /* A run without checkpoints needs it too, and its model must support fine-tuning. */
    for (int i = 3; i <= 4; i++) { /* those that are kept */
        process_write(process_format("%s/checkpoints/update-%08d", output, i), "state.json", "{", 1);
    }
    assert_ok(clf__folder_create(from));
    process_write(from, "config.json", "{\"model_type\": \"marian\"}", 24);
    assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT,
                 "is a model of architecture marian, but the run was");
}

/* OpenAI models decode after a prompt, which training does not support, whatever their token ids; a model
 * that starts like clformer's is examined further, whatever else the folder contains. */
static void test_speech_behind_a_prompt(void **state)
{
    (void)state;
    static const char whisper[] = "{\"model_type\": \"whisper\"}";
    static const char ours[] = "{\"model_type\": \"whisper\", \"vocab_size\": 40, \"pad_token_id\": 0, "
                               "\"bos_token_id\": 1, \"eos_token_id\": 2, \"decoder_start_token_id\": 1}";
    const char *from = digits_output();
    tune(from, "1");
    assert_ok(clf__folder_create(from));
    process_write(from, "config.json", whisper, sizeof whisper - 1);
    assert_fails(digits_train(digits_output(), task.logs), CLF_UNSUPPORTED,
                 "\"decoder_start_token_id\" is 50257, \"bos_token_id\" is 50256");
    process_write(from, "config.json", ours, sizeof ours - 1);
    process_write(from, "tokenizer.json", "{}", 2);
    assert_int_not_equal(digits_train(digits_output(), task.logs), CLF_OK);
    assert_null(strstr(clf_last_error(), "decoder_start_token_id"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_fine_tuning),
        TEST(test_going_on_without_the_folder),
        TEST(test_speech_behind_a_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
