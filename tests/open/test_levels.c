/* The trials by which AUTO chooses the matrix instructions of a GPU (matrix_gpu.h). This program is also the
 * child process of a trial. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clformer/log.h>

#include "base/memory.h"
#include "open/gemm_rate.h"
#include "open/level_choice.h"
#include "open/matrix_gpu.h"
#include "open/open_one.h"
#include "open/trial_child.h"
#include "runtime/device/device.h"
#include "support/cache_home.h"
#include "support/support.h"

/* The kernels to skip: GEMM with the instructions in fp16, in both precisions, or in fp16 with plain int8;
 * and the kernel that checks the instructions. */
static const char fast_fp16[] = "gemm_matrix_gpu/1 ", fast[] = "gemm_matrix_gpu/1 gemm_matrix_gpu/3 ",
                  fast_plain_int8[] = "gemm_matrix_gpu/1 gemm_int8_tile_gpu/- ",
                  no_results[] = "probe_matrix_gpu/1 ";

static char logged[4096];
static int warnings;
static void keep_log(clf_log_level level, const char *message, void *user)
{
    (void)user;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
    warnings += level == CLF_LOG_WARNING;
}

static const char *folder; /* with the results */
static char own_path[4096];

/* Calls back for each stored result; returns their number. */
static int for_results(void (*call)(const char *path))
{
    int count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        if (strncmp(entry->d_name, "level-", 6) == 0) {
            char path[512];
            count++;
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            if (call != NULL) {
                call(path);
            }
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    return count;
}

static void delete_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void damage_file(const char *path)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -3, SEEK_END);
    fputs("e+x", file);
    fclose(file);
}

static int begin(void **state)
{
    (void)state;
    for_results(delete_file);
    setenv("TEST_VENDOR", "nvidia", 1);
    setenv("CLFORMER_PROBE", own_path, 1);
    unsetenv("TEST_FAULT");
    unsetenv("TEST_SKIP");
    unsetenv("TEST_DRIVER");
    unsetenv("TEST_TURING");
    clf__trial_limit(600.0);
    return 0;
}

/* Opens the device as AUTO does; $TEST_SKIP and $TEST_FAULT are set for this call. */
static struct clf_device *open_with(const char *skip, const char *fault)
{
    struct clf_device *device;
    logged[0] = '\0';
    warnings = 0;
    setenv("TEST_SKIP", skip, 1);
    setenv("TEST_FAULT", fault, 1);
    clf_log_set(keep_log, NULL);
    assert_ok(clf_device_open(&device, "0", NULL));
    clf_log_set(NULL, NULL);
    return device;
}

/* Opens and closes the device. is_used: NV80 is expected. Trials and results stored; the first trial is
 * copied. */
static struct clf__level_trial first;
static void check_level(const char *skip, const char *fault, int is_used, int trials, int results)
{
    struct clf_device *device = open_with(skip, fault);
    assert_int_equal(device->caps.level->name == CLF_INSTRUCTIONS_NV80, is_used);
    assert_int_equal(device->caps.level->matrix.define != NULL, is_used);
    assert_int_equal(clf_device_describe(device)->instructions, device->caps.level->name);
    assert_int_equal(device->trials.count, trials);
    if (trials > 0) {
        first = device->trials.trials[0];
        assert_int_equal(clf__level_trial_is_used(&first), is_used);
    }
    clf_device_close(device);
    assert_int_equal(for_results(NULL), results);
}

static void test_fast_level_is_used(void **state)
{
    (void)state;
    check_level(fast, "", 1, 1, 1);
    assert_true(clf__level_trial_gain(&first, CLF__TRIAL_FP16) >= CLF__LEAST_GAIN);
    assert_int_equal(warnings, 0);
    struct clf__level_trial before = first;
    check_level(fast, "crash", 1, 1, 1); /* is not tried again */
    assert_true(first.rates[0] == before.rates[0] && first.plain_rates[1] == before.plain_rates[1]);
}

/* Emulated instructions are slower than plain code. */
static void test_slow_level(void **state)
{
    (void)state;
    check_level("", "", 0, 2, 2);
    assert_in_range((int)(1000.0 * clf__level_trial_gain(&first, CLF__TRIAL_FP16)), 1, 1499);
    assert_string_equal(first.failure, "");
    assert_non_null(strstr(logged, "matrix instructions nv80: GEMM 0."));
    assert_non_null(
        strstr(logged, "in int8; not used, because fp16 requires 1.5 times; to try again, delete "));
    assert_int_equal(warnings, 0);
    struct clf_device_options options;
    struct clf_device *device;
    clf_device_options_init(&options);
    options.instructions = CLF_INSTRUCTIONS_NV80; /* on request it is */
    assert_ok(clf_device_open(&device, "0", &options));
    assert_int_equal(device->caps.level->name, CLF_INSTRUCTIONS_NV80);
    clf_device_close(device);
}

static void test_wrong_results(void **state)
{
    (void)state;
    check_level(no_results, "", 0, 2, 2);
    assert_string_equal(first.failure, "matrix instructions nv80 give wrong results");
    check_level(fast, "", 0, 2, 2);
}

/* The check of the kernels at the level is part of its trial. */
static void test_failed_check(void **state)
{
    (void)state;
    if (support_small()) {
        skip(); /* compiles many kernels */
    }
    unsetenv("CLFORMER_WITHOUT");
    check_level("gemm_matrix_rows_gpu/1 ", "", 0, 2, 2);
    setenv("CLFORMER_WITHOUT", "check", 1);
    assert_non_null(strstr(first.failure, "wrong results: row 0, column 0 of the test GEMM is 0.5"));
}

static void test_refused_program(void **state)
{
    (void)state;
    check_level(fast, "refuse", 0, 2, 2);
    assert_string_equal(first.failure,
                        "cannot compile program probe_matrix: CL_BUILD_PROGRAM_FAILURE (-11): the "
                        "driver returned no log");
    assert_int_equal(warnings, 0);
}

static void test_crash(void **state)
{
    (void)state;
    check_level(fast, "crash", 0, 2, 2);
    assert_non_null(strstr(logged, "matrix instructions nv80: not used: their trial crashed (signal 6)"));
    assert_int_equal(warnings, 1);
    check_level(fast, "", 0, 2, 2);
    assert_non_null(strstr(logged, "their trial crashed (signal 6); to try again, delete "));
    assert_int_equal(warnings, 0);
}

static void test_hang(void **state)
{
    (void)state;
    clf__trial_limit(1.5);
    check_level(fast, "hang", 0, 2, 2);
    assert_non_null(strstr(logged, "nv80: not used: their trial took more than 1.5 seconds"));
    assert_int_equal(warnings, 1);
}

static void test_changed_driver(void **state)
{
    (void)state;
    setenv("TEST_DRIVER", "1.0", 1);
    check_level(fast, "crash", 0, 2, 2);
    setenv("TEST_DRIVER", "2.0", 1);
    check_level(fast, "", 1, 1, 3);
}

static void test_damaged_result(void **state)
{
    (void)state;
    check_level("", "refuse", 0, 2, 2);
    for_results(damage_file);
    check_level(fast, "", 1, 1, 2); /* tried again and stored */
    check_level("", "crash", 1, 1, 2);
}

/* int8 takes the faster of both instructions, and the weights their layout. */
static void test_int8(void **state)
{
    (void)state;
    const char *const skips[] = {fast, fast_plain_int8, fast_fp16};
    for (int i = 0; i < 3; i++) {
        for_results(delete_file);
        struct clf_device *device = open_with(skips[i], "");
        const struct clf__level_trial *trial = &device->trials.trials[0];
        int is_faster = clf__level_trial_gain(trial, CLF__TRIAL_INT8) > 1.0;
        assert_int_equal(device->caps.level->name, CLF_INSTRUCTIONS_NV80);
        assert_int_equal(clf__caps_use_matrix(&device->caps, CLF__PRECISION_INT8), is_faster);
        assert_int_equal(strstr(device->build_options, "-DINT8_IS_PLAIN") != NULL, !is_faster);
        assert_true(clf__caps_use_matrix(&device->caps, CLF__PRECISION_FP16));
        assert_true(i == 2 || is_faster == (i == 0)); /* the third is measured */
        clf_device_close(device);
    }
}

/* A level without bf16: a GEMM in bf16 is then computed as without matrix instructions. */
static void test_turing(void **state)
{
    (void)state;
    enum { SIZE = 64, ROWS = 70 };
    setenv("TEST_TURING", "", 1);
    struct clf_device *device = open_with(fast, "");
    const struct clf__caps *caps = &device->caps;
    assert_int_equal(device->trials.count, 1);
    assert_int_equal(caps->level->name, CLF_INSTRUCTIONS_NV75);
    assert_true(clf__caps_use_matrix(caps, CLF__PRECISION_FP16));
    assert_false(clf__caps_use_matrix(caps, CLF__PRECISION_BF16) || device->info->has_dot_bf16);
    unsetenv("TEST_SKIP");
    double rate = 0.0;
    const struct clf__gemm_case gemm = {CLF__PRECISION_BF16, ROWS, SIZE, 0.0};
    assert_ok(clf__gemm_rate(&rate, device, &gemm));
    assert_true(rate > 0.0);
    clf_device_close(device);
}

/* Other programs than the command. */
static void test_without_child(void **state)
{
    (void)state;
    unsetenv("CLFORMER_PROBE");
    check_level(fast, "", 1, 1, 1);
    for_results(delete_file);
    check_level(fast, "refuse", 0, 2, 2);
    for_results(delete_file);
    const char *const commands[] = {"/nonexistent", "/bin/false"};
    const char *const reasons[] = {
        "CLFORMER_PROBE: /nonexistent: cannot be started: No such file or directory",
        "CLFORMER_PROBE: /bin/false printed no result of a trial (exit status 1)"};
    for (int i = 0; i < 2; i++) {
        setenv("CLFORMER_PROBE", commands[i], 1);
        check_level(fast, "", 1, 1, 1);
        assert_non_null(strstr(logged, reasons[i]));
        for_results(delete_file);
    }
    unsetenv("CLFORMER_PROBE");
    setenv("TEST_VENDOR", "amd", 1);
    check_level(fast, "crash", 0, 3, 0);
    assert_non_null(strstr(first.failure, "run `clformer devices` once"));
}

/* The command itself, for which the device is a CPU. */
static void test_command(void **state)
{
    (void)state;
    setenv("CLFORMER_PROBE", CLF_BUILD_FOLDER "/clformer", 1);
    check_level(fast, "", 0, 2, 2);
    assert_non_null(
        strstr(first.failure, "does not support the requested instructions nv80; choose from: portable"));
    assert_int_equal(warnings, 0);
}

/* Each level of AMD's is a candidate, best first, and a crash costs only the first. */
static void test_order(void **state)
{
    (void)state;
    setenv("TEST_VENDOR", "amd", 1);
    struct clf_device *device = open_with(fast, "crash");
    const clf_instructions levels[] = {CLF_INSTRUCTIONS_MFMA, CLF_INSTRUCTIONS_WMMA12,
                                       CLF_INSTRUCTIONS_WMMA11};
    assert_int_equal(device->trials.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct clf__level_trial *trial = &device->trials.trials[i];
        assert_int_equal(trial->level, levels[i]);
        assert_non_null(strstr(trial->failure, i == 0 ? "crashed" : "cannot compile program probe_matrix"));
    }
    clf_device_close(device);
    assert_int_equal(warnings, 1);
    assert_int_equal(for_results(NULL), 3);
}

static void test_nothing_to_try(void **state)
{
    (void)state;
    unsetenv("TEST_VENDOR"); /* a CPU */
    struct clf_device *device = open_with(fast, "crash");
    assert_int_equal(device->trials.count, 0);
    clf_device_close(device);
    setenv("TEST_VENDOR", "nvidia", 1);
    setenv("CLFORMER_WITHOUT", "check,matrix", 1);
    check_level(fast, "crash", 0, 0, 0);
    setenv("CLFORMER_WITHOUT", "check", 1);
    setenv("CLFORMER_INSTRUCTIONS", "portable", 1);
    check_level(fast, "crash", 0, 0, 0);
    unsetenv("CLFORMER_INSTRUCTIONS");
    setenv("CLFORMER_CACHE_BYTES", "0", 1);
    check_level(fast, "refuse", 0, 2, 0);
    unsetenv("CLFORMER_CACHE_BYTES");
}

/* A result belongs to the sources of the kernels. */
static void test_changed_source(void **state)
{
    (void)state;
    static struct clf__kernel_source other = {"gemm_matrix", "gemm_matrix", "/* other */\n"};
    const struct clf__programs own = {.added_count = 0}, changed = {.added = &other, .added_count = 1};
    struct clf_device_list *list;
    char *keys[4];
    assert_ok(clf_device_list_create(&list));
    const struct clf__listed_device *listed = &list->devices[0];
    assert_ok(clf__level_trial_key(&keys[0], listed, CLF_INSTRUCTIONS_NV80, 0, &own));
    assert_ok(clf__level_trial_key(&keys[1], listed, CLF_INSTRUCTIONS_NV80, 0, &changed));
    assert_ok(clf__level_trial_key(&keys[2], listed, CLF_INSTRUCTIONS_MFMA, 0, &own));
    assert_ok(clf__level_trial_key(&keys[3], listed, CLF_INSTRUCTIONS_NV80, 0, &own));
    assert_string_not_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    assert_string_equal(keys[0], keys[3]);
    for (int i = 0; i < 4; i++) {
        clf__free(keys[i]);
    }
    clf_device_list_free(list);
}

/* The child process: prints the result of a trial, after output of the driver. */
static int try_level(int index, const char *word)
{
    struct clf__level_trial trial = {.level = CLF_INSTRUCTIONS_AUTO};
    struct clf_device_list *list;
    char *text;
    while (strcmp(clf__level_words[trial.level], word) != 0) {
        trial.level++;
    }
    if (clf_device_list_create(&list) != CLF_OK || clf__level_try(&trial, list, index, 1) != CLF_OK ||
        clf__level_trial_format(&text, &trial) != CLF_OK) {
        return 1;
    }
    printf("a driver's message\n%s", text);
    clf__free(text);
    clf_device_list_free(list);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--try-level") == 0) {
        return try_level(atoi(argv[2]), argv[3]);
    }
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int is_pocl = clf_device_list_count(list) > 0 && strstr(clf_device_list_at(list, 0)->version, "PoCL");
    clf_device_list_free(list);
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    if (!is_pocl || length <= 0) {
        return 0; /* the replacements fit PoCL */
    }
    static char path[512];
    const char *home = support_temporary_folder();
    set_cache_home(home);
    snprintf(path, sizeof path, "%s/clformer", home);
    folder = path;
    unsetenv("CLFORMER_DEVICE");
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_GEMM");
    unsetenv("CLFORMER_INSTRUCTIONS");
    setenv("CLFORMER_WITHOUT", "check", 1); /* which would compile more kernels */
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_fast_level_is_used),
        TEST(test_slow_level),
        TEST(test_wrong_results),
        TEST(test_failed_check),
        TEST(test_refused_program),
        TEST(test_crash),
        TEST(test_hang),
        TEST(test_changed_driver),
        TEST(test_damaged_result),
        TEST(test_int8),
        TEST(test_turing),
        TEST(test_without_child),
        TEST(test_command),
        TEST(test_order),
        TEST(test_nothing_to_try),
        TEST(test_changed_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
