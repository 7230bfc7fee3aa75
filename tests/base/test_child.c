/* Running another program: its output, its end, its time limit, an interrupt. */
#include "base/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <clformer/interrupt.h>

#include "support/support.h"

static struct clf__child_end end;
static char output[64];

static clf_status run_shell(const char *commands, double seconds)
{
    const char *const arguments[] = {"/bin/sh", "-c", commands, NULL};
    memset(output, 'x', sizeof output);
    return clf__child_run(&end, output, sizeof output, arguments, seconds);
}

static void test_ends(void **state)
{
    (void)state;
    assert_ok(run_shell("echo one; echo lost >&2; exit 3", 600.0));
    assert_string_equal(output, "one\n");
    assert_true(end.status == 3 && end.signal == 0 && !end.timed_out);
    assert_ok(run_shell("printf 'a\\0b'; kill -ABRT $$", 600.0));
    assert_string_equal(output, "a b");
    assert_true(end.status == -1 && end.signal == SIGABRT && !end.timed_out);
    assert_ok(run_shell("cat", 600.0)); /* standard input is empty */
    assert_true(end.status == 0 && output[0] == '\0');
    const char *const arguments[] = {"/nonexistent/program", NULL};
    assert_fails(clf__child_run(&end, output, sizeof output, arguments, 600.0), CLF_FILE,
                 "/nonexistent/program: cannot be started: No such file or directory");
}

/* The end of long output is kept. */
static void test_long_output(void **state)
{
    (void)state;
    assert_ok(run_shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i + 1)); done", 600.0));
    assert_int_equal(end.status, 0);
    assert_int_equal(strlen(output), sizeof output - 1);
    assert_string_equal(strstr(output, "line 2998"), "line 2998\nline 2999\n");
}

/* A program is stopped while it is silent and while it writes. */
static void test_time_limit(void **state)
{
    (void)state;
    const char *const commands[] = {"exec sleep 600", "exec yes"};
    for (int i = 0; i < 2; i++) {
        assert_ok(run_shell(commands[i], 0.3));
        assert_true(end.timed_out && end.signal == SIGKILL);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
}

/* A background process that holds the output open does not delay the end. */
static void test_open_output(void **state)
{
    (void)state;
    assert_ok(run_shell("sleep 20 & echo done", 600.0));
    assert_string_equal(output, "done\n");
    assert_true(end.status == 0 && !end.timed_out);
}

/* The calling program may wait for all of its children itself. */
static void test_ignored_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    clf_status status = run_shell("echo one", 600.0);
    signal(SIGCHLD, SIG_DFL);
    assert_ok(status);
    assert_string_equal(output, "one\n");
    assert_true(end.status == -1 && end.signal == 0);
}

static int stop(void *user)
{
    (void)user;
    return 1;
}

static void test_interrupt(void **state)
{
    (void)state;
    clf_interrupt_set(stop, NULL);
    clf_status status = run_shell("exec sleep 600", 600.0);
    clf_interrupt_set(NULL, NULL);
    assert_int_equal(status, CLF_INTERRUPTED);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_long_output),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_open_output),
        cmocka_unit_test(test_ignored_children),
        cmocka_unit_test(test_interrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
