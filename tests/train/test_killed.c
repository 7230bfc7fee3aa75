/* A run that is repeatedly killed by SIGKILL at random moments, also while saving, reports the same losses
 * for all updates and validations, bit for bit, as an undisturbed run. */
#include "support/digits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "support/process.h"

enum { UPDATES = 40, VALIDATIONS = 6, KILLS = 12 };

static const char *program; /* this one */

/* The child trains and records each update and validation in files, with one write() each so that no line is
 * torn. */
static FILE *notes, *validations;
static enum { LIVES, DIES_BEFORE_NOTING, DIES_BEHIND_NOTING } fate; /* at its first validation */

static void note_update(const struct clf_train_update *update, void *user)
{
    (void)user;
    fprintf(notes, "%d %a %a\n", (int)update->update, update->loss, update->gradient_norm);
    fflush(notes);
}

static void note_validation(const struct clf_train_validation *validation, void *user)
{
    (void)user;
    if (fate == DIES_BEFORE_NOTING) {
        raise(SIGKILL);
    }
    fprintf(validations, "%d %a %a\n", (int)validation->update, validation->nll, validation->bleu);
    fflush(validations);
    if (fate == DIES_BEHIND_NOTING) {
        raise(SIGKILL);
    }
}

static int run_child(const char *data, const char *output, const char *notes_path)
{
    struct clf_recipe *recipe = digits_recipe(data);
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    struct clf_train_hooks hooks = {
        .size = sizeof hooks, .updated = note_update, .validated = note_validation};
    options.gemm = CLF_GEMM_NATIVE;
    notes = fopen(notes_path, "a");
    validations = fopen(process_format("%s.validations", notes_path), "a");
    digits_set(recipe, "batch-tokens", "60");
    digits_set(recipe, "learning-rate", "0.01");
    digits_set(recipe, "warm-up", "5");
    digits_set(recipe, "max-updates", "40");
    digits_set(recipe, "save-every", "1"); /* most of the time is spent saving */
    digits_set(recipe, "validate-every", "7");
    digits_set(recipe, "patience", "0");
    assert_ok(clf_device_open(&device, NULL, &options));
    clf_status status = clf_train(device, recipe, output, &hooks);
    if (status != CLF_OK) {
        fprintf(stderr, "%s\n", clf_last_error());
    }
    clf_device_close(device);
    clf_recipe_free(recipe);
    fclose(notes);
    fclose(validations);
    return status == CLF_OK ? 0 : 1;
}

static pid_t start_child(const char *data, const char *output, const char *notes_path, int its_fate)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        process_set_environment();
        const char *word = process_format("%d", its_fate);
        execl(program, program, "child", data, output, notes_path, word, (char *)NULL);
        _exit(127);
    }
    return child;
}

static void wait_microseconds(int microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

static off_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_size : 0;
}

/* Returns 1 if the child ended by itself. */
static int wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
        assert_int_equal(WEXITSTATUS(status), 0);
        return 1;
    }
    assert_int_equal(WTERMSIG(status), SIGKILL);
    return 0;
}

static void run(const char *data, const char *output, const char *notes_path)
{
    assert_true(wait_for(start_child(data, output, notes_path, LIVES)));
}

/* Kills the child after a delay in microseconds from its next record, or waits for its end. */
static int run_and_kill(const char *data, const char *output, const char *notes_path, int microseconds)
{
    off_t before = size_of(notes_path);
    pid_t child = start_child(data, output, notes_path, LIVES);
    siginfo_t ended = {.si_pid = 0};
    while (size_of(notes_path) == before && ended.si_pid == 0) {
        wait_microseconds(500);
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    wait_microseconds(microseconds);
    kill(child, SIGKILL);
    return wait_for(child);
}

/* Reads lines by update, "" if missing; repeated updates must have equal lines. */
static void read_notes(char lines[UPDATES][96], const char *path)
{
    FILE *file = fopen(path, "r");
    char line[96];
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        int update = atoi(line);
        if (!strchr(line, '\n')) {
            continue; /* killed while writing */
        }
        assert_true(update >= 1 && update <= UPDATES);
        if (lines[update - 1][0] == '\0') {
            strcpy(lines[update - 1], line);
        }
        assert_string_equal(lines[update - 1], line);
    }
    fclose(file);
}

/* Both files contain the same updates or validations. */
static void assert_same_notes(const char *path, const char *expected_path, int count)
{
    char expected[UPDATES][96] = {""}, lines[UPDATES][96] = {""};
    int found = 0;
    read_notes(expected, expected_path);
    read_notes(lines, path);
    for (int i = 0; i < UPDATES; i++) {
        assert_string_equal(lines[i], expected[i]);
        found += lines[i][0] != '\0';
    }
    assert_int_equal(found, count);
}

static void test_a_killed_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    digits_write(folder, "train", 60, 8, 1);
    digits_write(folder, "valid", 10, 8, 2);
    const char *whole = process_format("%s/whole", folder), *torn = process_format("%s/torn", folder);
    const char *whole_notes = process_format("%s/whole.txt", folder);
    const char *torn_notes = process_format("%s/torn.txt", folder);
    run(folder, whole, whole_notes);
    /* Killed before or after recording a validation, a resumed run reports it again. */
    assert_false(wait_for(start_child(folder, torn, torn_notes, DIES_BEFORE_NOTING)));
    assert_false(wait_for(start_child(folder, torn, torn_notes, DIES_BEHIND_NOTING)));
    /* Each child completes at least an update: between two records it computes, saves and sometimes
     * validates. */
    struct support_random random = {(uint64_t)getpid()};
    int kills = 0, done = 0;
    for (; kills < KILLS && !done; kills++) {
        int longest = kills % 3 == 2 ? 300000 : 30000;
        done = run_and_kill(folder, torn, torn_notes, support_integer(&random, longest));
    }
    assert_true(kills > 1);
    run(folder, torn, torn_notes);
    assert_same_notes(torn_notes, whole_notes, UPDATES);
    assert_same_notes(process_format("%s.validations", torn_notes),
                      process_format("%s.validations", whole_notes), VALIDATIONS);
    size_t sizes[2];
    const char *models[] = {process_read(whole, "model.safetensors", &sizes[0]),
                            process_read(torn, "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(models[0], models[1], sizes[0]);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 6 && strcmp(argv[1], "child") == 0) {
        fate = atoi(argv[5]);
        return run_child(argv[2], argv[3], argv[4]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_killed_run_goes_on_to_the_same_bits, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
