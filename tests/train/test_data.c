/* Messages about texts that a run cannot use, or only in part. */
#include "support/digits.h"

#include <string.h>

#include "base/file.h"
#include "support/process.h"

static void test_left_out_lines_are_named(void **state)
{
    (void)state;
    char train[256] = "", valid[64] = "1 2\t2 1\n3\n\n4\t4\n5\t\n";
    for (int i = 0; i < 23; i++) {
        strcat(train, i == 21 ? "1 2\t2 1\n" : "1\n");
    }
    const char *folder = support_temporary_folder();
    process_write(folder, "train", train, strlen(train));
    process_write(folder, "valid", valid, strlen(valid));
    digits_set(task.recipe, "train", process_format("%s/train", folder));
    digits_set(task.recipe, "valid", process_format("%s/valid", folder));
    digits_set(task.recipe, "max-updates", "1");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_non_null(strstr(task.warnings, "train: skipped 22 of 23 lines (invalid): lines "
                                          "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
                                          "19, 20 and 2 more, which -v lists; line 1 of "));
    assert_non_null(strstr(task.warnings, "valid: skipped 2 of 5 lines (invalid): lines 2 "
                                          "and 3; line 2 of "));
    assert_non_null(
        strstr(task.warnings, "valid: skipped 1 of 5 lines (empty): line 5: the target is empty\n"));
}

/* The message names the file with the bad line. */
static void test_a_broken_target_is_named(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const char *files[] = {process_format("%s/s", folder), process_format("%s/t", folder)};
    process_write(folder, "s", "1\n2\n3\n", 6);
    process_write(folder, "t", "1\n\xff\n3\n", 6);
    assert_ok(clf_recipe_set(task.recipe, "train", files, 2));
    digits_set(task.recipe, "max-updates", "1");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_non_null(
        strstr(task.warnings,
               process_format(
                   "%s and %s: skipped 1 of 3 lines (invalid): line 2 of %s: invalid UTF-8 "
                   "at byte offset 0; convert the text, for example with iconv -f WINDOWS-1252 -t UTF-8\n",
                   files[0], files[1], files[1])));
}

/* Errors that need no device: vocabulary, configuration, initial weights. */
static void test_bad_data_is_named(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    digits_set(task.recipe, "train", process_format("%s/nothing.tsv", folder));
    assert_fails(digits_train(digits_output(), task.logs), CLF_FILE, "nothing.tsv");
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "max-source-length", "1");
    assert_fails(digits_train(digits_output(), task.logs), CLF_FORMAT, "train.source");
    assert_non_null(
        strstr(clf_last_error(), "60 too long and 0 invalid; line 1: its source and target lengths are "));
    /* The second file is missing, with and without --tokens. */
    for (int i = 0; i < 4; i++) {
        const char *output = digits_output(), *key = i < 2 ? "train" : "valid";
        clf_recipe_free(task.recipe);
        task.recipe = digits_recipe(task.data);
        digits_set(task.recipe, "tokens", i % 2 == 0 ? "true" : "false");
        digits_set(task.recipe, key, process_format("%s/%s.source", task.data, key));
        assert_fails(digits_train(output, task.logs), CLF_FORMAT,
                     process_format("%s.source: no line consists of a source and a target separated by one "
                                    "tab (line 1 has 0 tabs); name a second file, or correct this one",
                                    key));
        assert_false(clf__folder_exists(output));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_left_out_lines_are_named),
        TEST(test_a_broken_target_is_named),
        TEST(test_bad_data_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
