/* Paths to read or write need not be regular files: the command never waits for missing data or reads endless
 * data. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"

#define LOG "{\"update\":1,\"epoch\":1,\"loss\":2.5,\"nll\":2.5}\n"

static const char *make_pipe(void)
{
    const char *path = process_format("%s/pipe", support_temporary_folder());
    assert_int_equal(mkfifo(path, 0600), 0);
    return path;
}

/* Calls that open a path to read, in the place of "%s". */
static const char *const calls[] = {
    "curves %s -o -",
    "bench --merge %s",
    "bleu %s",
    "score -m " DEMO_MODEL " %s -",
    "score -m " DEMO_MODEL " - %s",
    "bench -m " DEMO_MODEL " --stage encode --repeats 1 --work %s",
    "train --train %s -o /tmp/clformer-no-model",
    "train --recipe %s -o /tmp/clformer-no-model",
    "translate -m %s",
    "translate -m " DEMO_MODEL " %s",
    "inspect %s",
    "wer %s",
    "transcribe -m %s talk.wav",
    "attend -m %s -o /tmp/clformer-no-page text",
    "average %s -o /tmp/clformer-no-model",
    "convert %s -o /tmp/clformer-no-model",
    "tune -m %s",
#ifdef CLF_HAS_SERVER
    "serve --port 0 -m %s",
#endif
};
enum { CALLS = sizeof calls / sizeof *calls };

static void test_every_verb_is_called(void **state)
{
    (void)state;
    static const char without_paths[] = "devices selftest serve ";
    for (const char *const *verb = process_verbs(); *verb != NULL; verb++) {
        const char *start = process_format("%s ", *verb);
        int is_called = strstr(without_paths, start) != NULL;
        for (int i = 0; i < CALLS; i++) {
            is_called |= strncmp(calls[i], start, strlen(start)) == 0;
        }
        if (!is_called) {
            fail_msg("%s: add a call that reads a path to `calls`, or add it to `without_paths`", *verb);
        }
    }
}

static char *call(int index, const char *path)
{
    const char *place = strstr(calls[index], "%s");
    return process_format("%.*s%s%s", (int)(place - calls[index]), calls[index], path, place + 2);
}

static void test_a_pipe_that_nobody_writes(void **state)
{
    (void)state;
    const char *path = make_pipe();
    for (int i = 0; i < CALLS; i++) {
        struct process_result result = run_clformer("a line\n", call(i, path));
        assert_int_equal(result.status, 1);
        assert_non_null(strstr(result.errors, path));
    }
}

static void test_devices_and_folders(void **state)
{
    (void)state;
    for (int i = 0; i < CALLS; i++) {
        struct process_result result = run_clformer("a line\n", call(i, "/dev/zero"));
        assert_int_equal(result.status, 1);
        assert_non_null(strstr(result.errors, "/dev/zero"));
        result = run_clformer("a line\n", call(i, "/dev"));
        assert_int_equal(result.status, 1);
        assert_non_null(strstr(result.errors, "/dev"));
    }
}

/* A pipe as a shell opens for <(...): it contains `bytes`, then ends. */
static const char *open_pipe(int *end, const char *bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, strlen(bytes)), (int)strlen(bytes));
    close(ends[1]);
    *end = ends[0];
    return process_format("/dev/fd/%d", ends[0]);
}

static void test_a_pipe_with_something_in_it(void **state)
{
    (void)state;
    int end;
    struct process_result result = run_clformer(NULL, call(0, open_pipe(&end, LOG)));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "2.5"));
    close(end);
    result = run_clformer("a b c d e\n", call(2, open_pipe(&end, "a b c d e\n")));
    assert_int_equal(result.status, 0);
    assert_int_equal(strncmp(result.output, "100.00", 6), 0);
    close(end);
    result = run_clformer(LOG, "curves /dev/stdin -o -");
    assert_int_equal(result.status, 0);
}

/* A pipe to which a child writes forever. */
static const char *open_endless(pid_t *child, int *end, const char *bytes)
{
    enum { TIMES = 1000 };
    int ends[2];
    size_t size = strlen(bytes);
    char *many = support_array(TIMES * size, 1);
    for (size_t i = 0; i < TIMES; i++) {
        memcpy(many + i * size, bytes, size);
    }
    assert_int_equal(pipe(ends), 0);
    *child = fork();
    if (*child == 0) {
        close(ends[0]);
        while (write(ends[1], many, TIMES * size) > 0) {
        }
        _exit(0);
    }
    close(ends[1]);
    *end = ends[0];
    return process_format("/dev/fd/%d", ends[0]);
}

static void test_a_pipe_without_an_end(void **state)
{
    (void)state;
    static const char *const parts[] = {"line 1: has more than 16777216 bytes",
                                        "it has more than 16777216 bytes"};
    for (int i = 0; i < 2; i++) {
        int end;
        pid_t child;
        const char *path = open_endless(&child, &end, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        struct process_result result = run_clformer(NULL, call(i, path));
        assert_refused(result, 1, parts[i]);
        close(end); /* which ends the child */
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

/* Endless lines against one line. */
static void test_lines_without_an_end(void **state)
{
    (void)state;
    int end;
    pid_t child;
    const char *path = open_endless(&child, &end, "a line of some words, again and again and again\n");
    struct process_result result = run_clformer("a line\n", call(2, path));
    assert_refused(result, 1, "standard input has 1 line, but /dev/fd/");
    assert_non_null(strstr(result.errors, " has at least "));
    close(end);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_a_pipe_that_nobody_reads(void **state)
{
    (void)state;
    const char *path = make_pipe(), *folder = support_temporary_folder();
    process_write(folder, "log", LOG, strlen(LOG));
    struct process_result result = run_clformer(NULL, process_format("curves %s/log -o %s", folder, path));
    assert_refused(result, 1, "a pipe without a reader");
    result = run_clformer(NULL, process_format("train --train a b -o %s/model --log %s", folder, path));
    assert_refused(result, 1, "a pipe without a reader");
}

/* /dev/stdout is a link: no page replaces it. */
static void test_a_page_to_dev_stdout(void **state)
{
    (void)state;
    struct stat before, after;
    assert_int_equal(lstat("/dev/stdout", &before), 0);
    struct process_result result = run_clformer(LOG, "curves /dev/stdin -o /dev/stdout");
    assert_int_equal(lstat("/dev/stdout", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(result.status, 0);
    assert_int_equal(strncmp(result.output, "<!DOCTYPE html>", 15), 0);
}

/* A page has the permissions of any new file. */
static void test_mode_of_a_page(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "log", LOG, strlen(LOG));
    mode_t before = umask(027);
    struct process_result result =
        run_clformer(NULL, process_format("curves %s/log -o %s/page", folder, folder));
    umask(before);
    assert_int_equal(result.status, 0);
    struct stat about;
    assert_int_equal(stat(process_format("%s/page", folder), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_verb_is_called, support_teardown),
        cmocka_unit_test_teardown(test_a_pipe_that_nobody_writes, support_teardown),
        cmocka_unit_test_teardown(test_devices_and_folders, support_teardown),
        cmocka_unit_test_teardown(test_a_pipe_with_something_in_it, support_teardown),
        cmocka_unit_test_teardown(test_a_pipe_without_an_end, support_teardown),
        cmocka_unit_test_teardown(test_lines_without_an_end, support_teardown),
        cmocka_unit_test_teardown(test_a_pipe_that_nobody_reads, support_teardown),
        cmocka_unit_test_teardown(test_a_page_to_dev_stdout, support_teardown),
        cmocka_unit_test_teardown(test_mode_of_a_page, support_teardown),
    };
    return cmocka_run_group_tests_name("end_to_end/inputs", tests, NULL, NULL);
}
