/* The folder of a training run: damaged, half-written, full, foreign, or started with another recipe. */
#include "support/digits.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "support/process.h"
#include "train/recipe.h"

static void damage(const char *output, int update, const char *name, size_t keep, int flip)
{
    const char *folder = process_format("%s/checkpoints/update-%08d", output, update);
    size_t size;
    char *bytes = process_read(folder, name, &size);
    bytes[size / 2] ^= (char)flip;
    process_write(folder, name, bytes, keep < size ? keep : size);
}

static void test_damaged_checkpoints_are_passed_over(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t keep;
        int flip;
    } cases[] = {
        {"model.safetensors", 100, 0},
        {"model.safetensors", (size_t)-1, 1},
        {"optimizer.safetensors", (size_t)-1, 4},
        {"state.json", 30, 0},
        {"config.json", 0, 0},
        {"vocab.json", (size_t)-1, 2},
    };
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *output = digits_output();
        task.logs[1].interrupt_after = 9;
        assert_fails(digits_train(output, &task.logs[1]), CLF_INTERRUPTED, "after update 9");
        damage(output, 9, cases[i].name, cases[i].keep, cases[i].flip);
        task.warnings[0] = '\0';
        assert_ok(digits_train(output, &task.logs[1]));
        assert_non_null(strstr(task.warnings, cases[i].name));
        assert_non_null(strstr(task.warnings, "update-00000009.damaged"));
        digits_assert_same_updates(&task.logs[1], &task.logs[0], 9); /* from update 8 */
    }
}

/* A missing file is damage; an unreadable file may be intact: nothing is renamed, and the run resumes from it
 * once it can be read. */
static void test_what_cannot_be_read_is_not_damaged(void **state)
{
    (void)state;
    static const char *const names[] = {"optimizer.safetensors", "state.json", "config.json"};
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    for (int i = 0; i < 6; i++) {
        const char *output = digits_output(), *name = names[i / 2];
        task.logs[1].interrupt_after = 9;
        assert_fails(digits_train(output, &task.logs[1]), CLF_INTERRUPTED, "after update 9");
        const char *path = process_format("%s/checkpoints/update-00000009/%s", output, name);
        const char *away = process_format("%s/away", output);
        assert_int_equal(rename(path, away), 0);
        if (i % 2 == 0) {
            assert_ok(clf__folder_create(path)); /* EISDIR, as it were */
        } else {
            assert_int_equal(symlink(name, path), 0); /* ELOOP */
        }
        assert_fails(digits_train(output, &task.logs[1]), CLF_FILE, path);
        assert_non_null(strstr(clf_last_error(), "this checkpoint cannot be read but may be intact; to "
                                                 "resume from the previous checkpoint, rename or remove it"));
        assert_true(digits_has_checkpoint(output, 9) && digits_has_checkpoint(output, 8));
        assert_ok(clf__folder_remove(path));
        assert_int_equal(rename(away, path), 0);
        assert_ok(digits_train(output, &task.logs[1]));
        assert_string_equal(task.warnings, "");
        digits_assert_same_updates(&task.logs[1], &task.logs[0], 10);
    }
    for (int i = 0; i < 3; i++) {
        const char *output = digits_output();
        task.logs[1].interrupt_after = 9;
        assert_fails(digits_train(output, &task.logs[1]), CLF_INTERRUPTED, "after update 9");
        const char *path = process_format("%s/checkpoints/update-00000009/%s", output, names[i]);
        assert_int_equal(unlink(path), 0);
        assert_ok(digits_train(output, &task.logs[1]));
        assert_non_null(strstr(task.warnings, "update-00000009.damaged"));
        digits_assert_same_updates(&task.logs[1], &task.logs[0], 9); /* from update 8 */
    }
}

/* After the next save, the newest of two is kept. */
static void test_one_damaged_checkpoint_is_kept(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "save-every", "1");
    digits_set(task.recipe, "keep-last", "3");
    task.logs[1].interrupt_after = 5;
    assert_fails(digits_train(output, &task.logs[1]), CLF_INTERRUPTED, "after update 5");
    damage(output, 5, "model.safetensors", 100, 0);
    damage(output, 4, "model.safetensors", 100, 0);
    const char *checkpoints = process_format("%s/checkpoints", output);
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(task.logs[1].start.first_update, 4);
    assert_true(digits_has_file(checkpoints, "update-00000005.damaged/config.json"));
    assert_false(clf__folder_exists(process_format("%s/update-00000004.damaged", checkpoints)));
    assert_non_null(strstr(task.notices, "update-00000004.damaged: removed"));
}

/* The shell pattern in the help of `clformer average` matches only trained checkpoints, whatever else the
 * folder contains. */
static void test_a_pattern_finds_the_checkpoints(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "keep-last", "99");
    assert_ok(digits_train(output, task.logs));
    const char *checkpoints = process_format("%s/checkpoints", output);
    assert_ok(clf__folder_create(process_format("%s/update-00000003.damaged", checkpoints)));
    assert_true(digits_has_file(checkpoints, "lock"));
    glob_t found;
    assert_int_equal(glob(process_format("%s/update-*[0-9]", checkpoints), 0, NULL, &found), 0);
    static const int updates[] = {4, 6, 8, 12};
    assert_int_equal((int)found.gl_pathc, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(found.gl_pathv[i], process_format("%s/update-%08d", checkpoints, updates[i]));
    }
    globfree(&found);
}

static void test_what_killed_runs_left_is_removed(void **state)
{
    (void)state;
    const char *output = digits_output();
    task.logs[0].interrupt_after = 5;
    assert_fails(digits_train(output, &task.logs[0]), CLF_INTERRUPTED, NULL);
    const char *left = process_format("%s/checkpoints/update-00000006.tmp", output);
    assert_ok(clf__folder_create(left));
    process_write(left, "model.safetensors", "x", 1);
    assert_ok(digits_train(output, &task.logs[1]));
    assert_false(clf__folder_exists(left));
    assert_int_equal(task.logs[1].start.first_update, 6);
}

static void test_a_disk_that_is_full(void **state)
{
    (void)state;
    const char *output = digits_output();
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    digits_set(task.recipe, "max-updates", "8");
    assert_ok(digits_train(output, &task.logs[1]));
    digits_set(task.recipe, "max-updates", "12");
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 20000; /* less than the weights */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    clf_status status = digits_train(output, &task.logs[1]);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_fails(status, CLF_FILE, "cannot be written");
    assert_non_null(strstr(clf_last_error(), "update 12 was not saved (last checkpoint: "));
    assert_non_null(strstr(clf_last_error(), "update-00000008"));
    struct clf__names names;
    assert_ok(clf__folder_list(&names, process_format("%s/checkpoints", output)));
    for (int i = 0; i < names.count; i++) {
        assert_null(strstr(names.items[i], ".tmp"));
    }
    clf__names_free(&names);
    assert_ok(digits_train(output, &task.logs[1]));
    digits_assert_same_updates(&task.logs[1], &task.logs[0], 9);
}

static void test_another_recipe_is_refused(void **state)
{
    (void)state;
    const char *output = digits_output();
    task.logs[0].interrupt_after = 3;
    assert_fails(digits_train(output, &task.logs[0]), CLF_INTERRUPTED, NULL);
    digits_set(task.recipe, "beta2", "0.9");
    assert_fails(digits_train(output, &task.logs[1]), CLF_BAD_ARGUMENT, "beta2: is 0.9");
    digits_set(task.recipe, "beta2", "0.98");
    digits_set(task.recipe, "keep-last", "5");
    digits_set(task.recipe, "max-updates", "4");
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(task.logs[1].start.first_update, 4);
}

static clf_status go_on_to(const char *output, const char *key, const char *value)
{
    struct clf_recipe *right = task.recipe;
    assert_ok(clf__recipe_copy(&task.recipe, right));
    digits_set(task.recipe, key, value);
    clf_status status = digits_train(output, &task.logs[1]);
    clf_recipe_free(task.recipe);
    task.recipe = right;
    return status;
}

/* recipe.json stays consistent with the model. */
static void test_less_than_was_done_is_refused(void **state)
{
    (void)state;
    const char *output = digits_output();
    size_t size;
    assert_ok(digits_train(output, &task.logs[0]));
    int epochs = task.logs[0].updates[11].epoch;
    assert_true(epochs > 1);
    const char *recipe = process_read(output, "recipe.json", &size);
    assert_fails(go_on_to(output, "max-updates", "11"), CLF_BAD_ARGUMENT,
                 "max-updates: is 11, but the run in");
    assert_non_null(strstr(clf_last_error(), "has already made 12 updates;"));
    assert_fails(go_on_to(output, "max-epochs", process_format("%d", epochs - 1)), CLF_BAD_ARGUMENT,
                 "max-epochs: is ");
    assert_string_equal(process_read(output, "recipe.json", &size), recipe);
    assert_ok(go_on_to(output, "max-epochs", process_format("%d", epochs)));
    assert_ok(go_on_to(output, "max-updates", "13"));
}

/* A time limit that allows one update per call; repeating the command resumes until the update limit. */
static void test_minutes(void **state)
{
    (void)state;
    const char *output = digits_output();
    struct digits_log *log = &task.logs[0];
    digits_set(task.recipe, "max-updates", "3");
    digits_set(task.recipe, "minutes", "0.000001");
    for (int i = 1; i <= 3; i++) {
        assert_ok(digits_train(output, log));
        assert_int_equal(log->count, 1);
        assert_int_equal(log->updates[0].update, i);
        assert_int_equal(log->validation_count, 1);
        assert_int_equal(log->validations[0].update, i);
        assert_true(digits_has_file(output, "model.safetensors"));
    }
    assert_ok(digits_train(output, log));
    assert_int_equal(log->count, 0);
    digits_set(task.recipe, "max-updates", "5");
    digits_set(task.recipe, "minutes", "1000");
    assert_ok(digits_train(output, log));
    assert_int_equal(log->count, 2);
    assert_int_equal(log->updates[1].expected_updates, 5);
}

static void test_other_data_is_refused(void **state)
{
    (void)state;
    const char *output = digits_output(), *other = support_temporary_folder();
    clf_recipe_free(task.recipe);
    digits_write(other, "train", 30, 5, 3);
    digits_write(other, "valid", 5, 5, 3);
    task.recipe = digits_recipe(other);
    digits_set(task.recipe, "max-updates", "2");
    assert_ok(digits_train(output, &task.logs[0]));
    digits_write(other, "train", 31, 5, 3);
    assert_fails(digits_train(output, &task.logs[1]), CLF_BAD_ARGUMENT, "has 31 pairs in 31 lines");
    digits_write(other, "train", 30, 5, 4); /* as many */
    digits_set(task.recipe, "max-updates", "3");
    assert_fails(digits_train(output, &task.logs[1]), CLF_BAD_ARGUMENT,
                 "train.target: differs from the text with which");
    digits_write(other, "train", 30, 5, 3);
    digits_write(other, "valid", 4, 5, 3);
    assert_fails(digits_train(output, &task.logs[1]), CLF_BAD_ARGUMENT,
                 "valid.target: differs from the text with which");
    digits_write(other, "valid", 5, 5, 3);
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(task.logs[1].start.first_update, 3);
    /* A state of an older version does not record it. */
    const char *folder = process_format("%s/checkpoints/update-00000003", output);
    json_t *root = json_load_file(process_format("%s/state.json", folder), 0, NULL);
    assert_int_equal(json_object_del(root, "train_checksum"), 0);
    assert_int_equal(json_object_del(root, "valid_checksum"), 0);
    assert_int_equal(json_dump_file(root, process_format("%s/state.json", folder), 0), 0);
    json_decref(root);
    digits_set(task.recipe, "max-updates", "4");
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(task.logs[1].start.first_update, 4);
}

/* A failed start records nothing: a corrected command is treated like the first. */
static void test_a_failed_start_binds_nobody(void **state)
{
    (void)state;
    const char *output = digits_output(), *folder = support_temporary_folder();
    struct clf_recipe *right = task.recipe;
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "train", process_format("%s/typo.tsv", folder));
    assert_fails(digits_train(output, task.logs), CLF_FILE, "typo.tsv");
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "valid", process_format("%s/typo.tsv", folder));
    assert_fails(digits_train(output, task.logs), CLF_FILE, "typo.tsv");
    assert_false(clf__folder_exists(output)); /* detected before anything is created */
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "max-source-length", "1");
    digits_set(task.recipe, "seed", "7");
    assert_ok(clf__folder_create(process_format("%s/checkpoints", output))); /* else nothing would be left */
    assert_fails(digits_train(output, task.logs), CLF_FORMAT, "no usable pair");
    assert_true(digits_has_checkpoint(output, 0));
    clf_recipe_free(task.recipe);
    task.recipe = right;
    assert_ok(digits_train(output, &task.logs[0]));
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    digits_assert_same_updates(&task.logs[0], &task.logs[1], 1); /* not the weights of the other seed */
}

static clf_status second_status;
static char second_sentence[256];

/* Starts training in the same folder from within a run. */
static int train_there_too(void *output)
{
    if (second_status == CLF_OK) {
        second_status = clf_train(digits_device(), task.recipe, output, NULL);
        snprintf(second_sentence, sizeof second_sentence, "%s", clf_last_error());
    }
    return 0;
}

static void test_one_run_a_folder(void **state)
{
    (void)state;
    const char *output = digits_output();
    struct clf_train_hooks hooks = {
        .size = sizeof hooks, .interrupted = train_there_too, .payload = (void *)output};
    second_status = CLF_OK;
    digits_set(task.recipe, "max-updates", "2");
    assert_ok(clf_train(digits_device(), task.recipe, output, &hooks));
    assert_int_equal(second_status, CLF_BAD_ARGUMENT);
    assert_non_null(
        strstr(second_sentence,
               "another run is training in this folder; wait until it ends or choose another folder"));
    assert_ok(digits_train(output, task.logs)); /* after it, it may */
}

static void test_what_is_not_ours_stays(void **state)
{
    (void)state;
    const char *output = digits_output();
    assert_ok(clf__folder_create(output));
    process_write(output, "config.json", "{}", 2);
    assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT,
                 "holds a model that was not trained there");
    assert_false(digits_has_file(output, "recipe.json"));
    assert_fails(digits_train(process_format("%s/config.json", output), task.logs), CLF_BAD_ARGUMENT,
                 "config.json: is a file; choose a folder for the model");
    digits_set(task.recipe, "max-updates", "2");
    output = digits_output();
    assert_ok(digits_train(output, task.logs));
    static const char *const left[] = {"model.safetensors.123-4.tmp", "config.json.1-0.tmp"};
    static const char *const others[] = {"model.safetensors.mine.tmp", "notes.1-0.tmp", "config.json.1-0"};
    for (int i = 0; i < 2; i++) {
        process_write(output, left[i], "x", 1);
    }
    for (int i = 0; i < 3; i++) {
        process_write(output, others[i], "x", 1);
    }
    assert_ok(digits_train(output, task.logs));
    for (int i = 0; i < 2; i++) {
        assert_false(digits_has_file(output, left[i]));
    }
    for (int i = 0; i < 3; i++) {
        assert_true(digits_has_file(output, others[i]));
    }
}

/* Checkpoints were deleted to save space: only the finished model is left. */
static void test_a_finished_model_is_not_written_over(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "max-updates", "2");
    assert_ok(digits_train(output, task.logs));
    assert_ok(clf__folder_remove(process_format("%s/checkpoints", output)));
    size_t sizes[2];
    const char *before = process_read(output, "model.safetensors", &sizes[0]);
    digits_set(task.recipe, "max-updates", "1");
    assert_fails(
        digits_train(output, task.logs), CLF_BAD_ARGUMENT,
        "holds a model that was finished and has no checkpoint to resume from; choose another folder");
    const char *after = process_read(output, "model.safetensors", &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(before, after, sizes[0]);
    assert_false(clf__folder_exists(process_format("%s/checkpoints", output)));
}

static const char anew[] = "no checkpoint is intact; training starts again at update 1";

static void test_beginning_anew_is_said(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "keep-last", "1");
    digits_set(task.recipe, "validate-every", "100");
    digits_set(task.recipe, "keep-best", "0");
    digits_set(task.recipe, "max-updates", "4");
    assert_ok(digits_train(output, &task.logs[0]));
    damage(output, 4, "state.json", 30, 0);
    assert_ok(digits_train(output, &task.logs[1]));
    assert_non_null(strstr(task.warnings, anew));
    digits_assert_same_updates(&task.logs[1], &task.logs[0], 1);
}

/* Also after a start that found the damage and then failed. */
static void test_beginning_anew_is_said_again(void **state)
{
    (void)state;
    const char *output = digits_output();
    task.logs[0].interrupt_after = 3; /* before another checkpoint is saved */
    assert_fails(digits_train(output, &task.logs[0]), CLF_INTERRUPTED, NULL);
    damage(output, 3, "state.json", 30, 0);
    struct clf_recipe *right = task.recipe;
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "max-source-length", "1");
    for (int i = 0; i < 2; i++) {
        task.warnings[0] = '\0';
        assert_fails(digits_train(output, &task.logs[0]), CLF_FORMAT, "no usable pair");
        assert_non_null(strstr(task.warnings, anew));
    }
    clf_recipe_free(task.recipe);
    task.recipe = right;
    task.warnings[0] = '\0';
    digits_set(task.recipe, "max-updates", "4");
    assert_ok(digits_train(output, &task.logs[1]));
    assert_non_null(strstr(task.warnings, anew));
    task.warnings[0] = '\0';
    assert_ok(digits_train(output, &task.logs[1])); /* from update 4 */
    assert_string_equal(task.warnings, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_damaged_checkpoints_are_passed_over),
        TEST(test_what_cannot_be_read_is_not_damaged),
        TEST(test_one_damaged_checkpoint_is_kept),
        TEST(test_a_pattern_finds_the_checkpoints),
        TEST(test_what_killed_runs_left_is_removed),
        TEST(test_a_disk_that_is_full),
        TEST(test_another_recipe_is_refused),
        TEST(test_less_than_was_done_is_refused),
        TEST(test_minutes),
        TEST(test_other_data_is_refused),
        TEST(test_a_failed_start_binds_nobody),
        TEST(test_one_run_a_folder),
        TEST(test_what_is_not_ours_stays),
        TEST(test_a_finished_model_is_not_written_over),
        TEST(test_beginning_anew_is_said),
        TEST(test_beginning_anew_is_said_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
