/* The initial model of a run, if it is not random. */
#include "support/digits.h"

#include <string.h>

#include "base/file.h"
#include "support/process.h"

static void ask_for_too_much(void)
{
    static const char *const wide[] = {"d_model=65536", "encoder_attention_heads=512",
                                       "decoder_attention_heads=512", "encoder_layers=4096"};
    assert_ok(clf_recipe_set(task.recipe, "config", wide, 4));
}

/* A model larger than any device's memory is rejected before its weights are drawn. */
static void test_a_model_that_the_device_cannot_train(void **state)
{
    (void)state;
    const char *output = digits_output();
    ask_for_too_much();
    assert_fails(digits_train(output, task.logs), CLF_DEVICE_MEMORY, "GiB of device memory");
    assert_non_null(strstr(clf_last_error(), " are free"));
    assert_false(digits_has_checkpoint(output, 0));
}

static int stop(void *asked)
{
    ++*(int *)asked;
    return 1;
}

static void test_drawing_can_be_interrupted(void **state)
{
    (void)state;
    int asked = 0;
    const char *output = digits_output();
    struct clf_train_hooks hooks = {.size = sizeof hooks, .interrupted = stop, .payload = &asked};
    assert_fails(clf_train(digits_device(), task.recipe, output, &hooks), CLF_INTERRUPTED,
                 "before its first update");
    assert_int_equal(asked, 1);
    assert_false(clf__folder_exists(output));
    assert_ok(digits_train(output, task.logs));
}

static void refuse(const char *output, const char *name, const char *value, clf_status status,
                   const char *sentence)
{
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, name, value);
    assert_fails(digits_train(output, task.logs), status, sentence);
}

/* Folders created by a failed run are removed, including parents it created; existing contents stay. */
static void test_a_failed_run_leaves_nothing(void **state)
{
    (void)state;
    const char *above = digits_output();
    const char *output = process_format("%s/one//two/", above);
    process_write(task.data, "empty", "", 0);
    for (int i = 0; i < 2; i++) {
        refuse(output, "max-source-length", "1", CLF_FORMAT, "no usable pair");
        assert_int_equal(clf__folder_exists(above), i);
        ask_for_too_much();
        assert_fails(digits_train(output, task.logs), CLF_DEVICE_MEMORY, "GiB of device memory");
        assert_int_equal(clf__folder_exists(above), i);
        refuse(output, "source-vocabulary", process_format("%s/empty", task.data), CLF_TEXT,
               "empty: has no tokens for a vocabulary");
        assert_int_equal(clf__folder_exists(above), i);
        assert_ok(clf__folder_create(above));
    }
    process_write(above, "notes", "x", 1);
    refuse(above, "max-source-length", "1", CLF_FORMAT, "no usable pair");
    assert_true(digits_has_file(above, "notes"));
    assert_false(digits_has_file(above, "recipe.json") ||
                 clf__folder_exists(process_format("%s/checkpoints", above)));
    process_write(above, "recipe.json", "{}", 2);
    refuse(above, "max-source-length", "1", CLF_FORMAT, "no usable pair");
    assert_true(digits_has_file(above, "recipe.json"));
}

/* Updates were made, but none was saved. */
static void test_a_run_without_a_checkpoint_leaves_nothing(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "learning-rate", "1000");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "normalize", "none");
    digits_set(task.recipe, "optimizer", "adamw");
    digits_set(task.recipe, "decay", "1"); /* w grows 999-fold with each update */
    digits_set(task.recipe, "bad-updates", "2");
    digits_set(task.recipe, "max-updates", "1000");
    digits_set(task.recipe, "save-every", "0");
    digits_set(task.recipe, "validate-every", "1000");
    assert_fails(digits_train(output, task.logs), CLF_UNSUPPORTED, "the last checkpoint is none");
    assert_true(task.logs->count > 0);
    assert_false(clf__folder_exists(output));
    digits_set(task.recipe, "save-every", "1");
    assert_fails(digits_train(output, task.logs), CLF_UNSUPPORTED, "checkpoints/update-0");
    assert_true(digits_has_file(output, "recipe.json"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_model_that_the_device_cannot_train),
        TEST(test_drawing_can_be_interrupted),
        TEST(test_a_failed_run_leaves_nothing),
        TEST(test_a_run_without_a_checkpoint_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
