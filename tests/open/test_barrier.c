/* The trial of waiting work-groups on a GPU without device-scope atomics. This program is also the child
 * process of a trial. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clformer/log.h>

#include "base/memory.h"
#include "open/barrier_choice.h"
#include "open/barrier_stress.h"
#include "open/matrix_gpu.h"
#include "open/open_one.h"
#include "open/trial_child.h"
#include "runtime/device/device.h"
#include "support/cache_home.h"
#include "support/support.h"

static const char skipped[] = "probe_barrier_gpu/- "; /* the launch does nothing, so its words are missing */
static char own_path[4096], logged[4096];
static int warnings;

static void keep_log(clf_log_level level, const char *message, void *user)
{
    (void)user;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
    warnings += level == CLF_LOG_WARNING;
}

static int begin(void **state)
{
    (void)state;
    set_cache_home(support_temporary_folder());
    setenv("TEST_VENDOR", "nvidia", 1); /* the CPU becomes a GPU */
    setenv("CLFORMER_WITHOUT", "check,atomics", 1);
    setenv("CLFORMER_PROBE", own_path, 1);
    unsetenv("TEST_CHILD");
    unsetenv("TEST_SKIP");
    unsetenv("TEST_DRIVER");
    clf__trial_limit(600.0);
    return 0;
}

/* Opens the device with the kernels of $TEST_SKIP, and checks whether launches may wait. */
static struct clf__barrier_trial open_and_check(const char *skip, int is_used)
{
    struct clf_device *device;
    logged[0] = '\0';
    warnings = 0;
    setenv("TEST_SKIP", skip, 1);
    clf_log_set(keep_log, NULL);
    assert_ok(clf_device_open(&device, "0", NULL));
    clf_log_set(NULL, NULL);
    struct clf__barrier_trial trial = device->barrier_trial;
    assert_int_equal(clf__barrier_trial_is_used(&trial), is_used);
    assert_int_equal(device->caps.has_fenced_atomics, is_used);
    assert_int_equal(strstr(device->build_options, " -DHAS_FENCED_ATOMICS") != NULL, is_used);
    clf_device_close(device);
    return trial;
}

static void test_success(void **state)
{
    (void)state;
    open_and_check("", 1);
    assert_non_null(strstr(logged, "waiting work-groups without device-scope atomics: used\n"));
    assert_int_equal(warnings, 0);
    open_and_check(skipped, 1); /* the stored result is used */
    setenv("TEST_DRIVER", "other", 1);
    open_and_check(skipped, 0);
}

static void test_wrong_words(void **state)
{
    (void)state;
    struct clf__barrier_trial trial = open_and_check(skipped, 0);
    assert_string_equal(trial.failure, "work-groups wrote wrong words");
    assert_non_null(strstr(logged, "work-groups wrote wrong words; to try again, delete "));
    assert_int_equal(warnings, 0);
    open_and_check("", 0); /* stored */
}

static void test_crash_and_hang(void **state)
{
    (void)state;
    setenv("TEST_CHILD", "crash", 1);
    struct clf__barrier_trial trial = open_and_check("", 0);
    assert_string_equal(trial.failure, "their trial crashed (signal 6)");
    assert_int_equal(warnings, 1);
    setenv("TEST_DRIVER", "other", 1);
    setenv("TEST_CHILD", "hang", 1);
    clf__trial_limit(0.5);
    trial = open_and_check("", 0);
    assert_string_equal(trial.failure, "their trial took more than 0.5 seconds");
    setenv("TEST_CHILD", "crash", 1);
    open_and_check("", 0); /* stored */
    assert_int_equal(warnings, 0);
}

/* The trial runs in this process if there is no command, or one that is not clformer. */
static void test_without_child(void **state)
{
    (void)state;
    unsetenv("CLFORMER_PROBE");
    open_and_check("", 1);
    setenv("CLFORMER_PROBE", "/bin/false", 1);
    setenv("TEST_DRIVER", "other", 1);
    open_and_check("", 1);
    assert_non_null(strstr(logged, "/bin/false printed no result of a trial"));
}

static void test_not_tried(void **state)
{
    (void)state;
    static const char *const without[] = {"check,atomics,barrier", "check,atomics,pairs", "check"};
    setenv("TEST_CHILD", "crash", 1);
    for (int i = 0; i < 3; i++) {
        setenv("CLFORMER_WITHOUT", without[i], 1);
        struct clf__barrier_trial trial = open_and_check("", 0);
        assert_false(trial.is_tried);
        assert_string_equal(clf__barrier_trial_describe(&trial), "not tried");
    }
    unsetenv("TEST_VENDOR"); /* a CPU */
    setenv("CLFORMER_WITHOUT", "check,atomics", 1);
    assert_false(open_and_check("", 0).is_tried);
}

/* The stress finds words that are wrong and groups that stop waiting. */
static void test_stress(void **state)
{
    (void)state;
    unsetenv("TEST_VENDOR");
    struct clf_device *device = support_device(CLF_VARIANT_GPU);
    const struct clf__barrier_stress right = {.rounds = 4, .launches = 2, .fails_at = -1, .spoiled_task = -1};
    struct clf__barrier_stress stress = right;
    assert_ok(clf__barrier_stress(device, &stress));
    stress.spoiled_task = 0; /* all tasks of the next round read its rows */
    assert_fails(clf__barrier_stress(device, &stress), CLF_UNSUPPORTED,
                 "old words in rows of other work-groups");
    for (stress = right, stress.fails_at = 0; stress.fails_at < 200; stress.fails_at += 67) {
        assert_fails(clf__barrier_stress(device, &stress), CLF_UNSUPPORTED, "waited too long");
    }
    assert_ok(clf__barrier_stress(device, &right));
}

static void test_lines(void **state)
{
    (void)state;
    struct clf__barrier_trial trial = {.is_tried = 1}, found = {.is_tried = 1};
    char *text;
    assert_ok(clf__barrier_trial_format(&text, &trial));
    assert_true(clf__barrier_trial_parse(&found, text) && clf__barrier_trial_is_used(&found));
    clf__free(text);
    for (trial.is_lasting = 0; trial.is_lasting <= 1; trial.is_lasting++) {
        clf__trial_copy_failure(trial.failure, "two\nlines");
        assert_ok(clf__barrier_trial_format(&text, &trial));
        assert_true(clf__barrier_trial_parse(&found, text));
        assert_string_equal(found.failure, "two lines");
        assert_int_equal(found.is_lasting, trial.is_lasting);
        clf__free(text);
    }
    static const char *const wrong[] = {"", "\n", "passed", "passe\n", "passed\nmore\n", "fail reason\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(clf__barrier_trial_parse(&found, wrong[i]));
    }
}

/* The child process: prints the result, after output of the driver. */
static int try_barrier(int index)
{
    struct clf__barrier_trial trial;
    struct clf_device_list *list;
    const char *fault = getenv("TEST_CHILD");
    char *text;
    if (fault != NULL && strcmp(fault, "crash") == 0) {
        abort();
    }
    if (fault != NULL) {
        pause();
    }
    if (clf_device_list_create(&list) != CLF_OK || clf__barrier_try(&trial, list, index, 1) != CLF_OK ||
        clf__barrier_trial_format(&text, &trial) != CLF_OK) {
        return 1;
    }
    printf("a driver's message\n%s", text);
    clf__free(text);
    clf_device_list_free(list);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--try-barrier") == 0) {
        return try_barrier(atoi(argv[2]));
    }
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int is_pocl = clf_device_list_count(list) > 0 && strstr(clf_device_list_at(list, 0)->version, "PoCL");
    clf_device_list_free(list);
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    if (!is_pocl || length <= 0) {
        return 0; /* the replacements fit PoCL */
    }
    unsetenv("CLFORMER_DEVICE");
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_GEMM");
    setenv("CLFORMER_INSTRUCTIONS", "portable", 1); /* no trials of matrix instructions */
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_success),   TEST(test_wrong_words), TEST(test_crash_and_hang), TEST(test_without_child),
        TEST(test_not_tried), TEST(test_stress),      TEST(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
