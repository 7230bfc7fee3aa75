/* The trials by which AUTO chooses the matrix instructions of a GPU. The functions below replace functions of
 * the OpenCL loader: PoCL's CPU becomes a GPU of a vendor with matrix instructions, NVIDIA's are compiled as
 * the emulated ones, and compilers crash, hang or refuse. This program is also the child process of a trial;
 * environment variables tell it what to replace. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <clformer/log.h>

#include "base/memory.h"
#include "open/level_choice.h"
#include "open/open_one.h"
#include "runtime/device/device.h"
#include "runtime/opencl/opencl.h"
#include "support/cache_home.h"
#include "support/support.h"

/* $TEST_VENDOR: nvidia or amd; unset: the CPU as it is, with NVIDIA's instructions. */
static int is_vendor(const char *name)
{
    const char *vendor = getenv("TEST_VENDOR");
    return vendor != NULL && strcmp(vendor, name) == 0;
}

/* $TEST_FAULT: what happens to the instructions of the first level. */
static int has_fault(const char *name)
{
    const char *fault = getenv("TEST_FAULT");
    return fault != NULL && strcmp(fault, name) == 0;
}

static cl_int answer(const void *value, size_t bytes, size_t size, void *out, size_t *told)
{
    if (told != NULL) {
        *told = bytes;
    }
    if (out != NULL) {
        memcpy(out, value, bytes < size ? bytes : size);
    }
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    const char *extension =
        is_vendor("amd") ? "cl_amd_device_attribute_query" : "cl_nv_device_attribute_query";
    const char *driver = getenv("TEST_DRIVER");
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_uint major = 8;
    switch (what) {
    case CL_DEVICE_EXTENSIONS:
        return answer(extension, strlen(extension) + 1, size, out, told);
    case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
        return answer(&major, sizeof major, size, out, told);
    case CL_DEVICE_TYPE:
        return getenv("TEST_VENDOR") != NULL ? answer(&gpu, sizeof gpu, size, out, told)
                                             : ask(device, what, size, out, told);
    case CL_DRIVER_VERSION:
        return driver != NULL ? answer(driver, strlen(driver) + 1, size, out, told)
                              : ask(device, what, size, out, told);
    default:
        return ask(device, what, size, out, told);
    }
}

/* Replaces a compiler option. */
static void replace_option(char *options, size_t size, const char *from, const char *to)
{
    char rest[4096], *at = strstr(options, from);
    if (at != NULL) {
        snprintf(rest, sizeof rest, "%s", at + strlen(from));
        snprintf(at, size - (size_t)(at - options), "%s%s", to, rest);
    }
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    cl_int (*build)(cl_program, cl_uint, const cl_device_id *, const char *,
                    void(CL_CALLBACK *)(cl_program, void *), void *);
    char own[4096];
    int is_first = strstr(options, "-DMATRIX_NV80") || strstr(options, "-DMATRIX_MFMA");
    int is_amd = strstr(options, "-DMATRIX_MFMA") || strstr(options, "-DMATRIX_WMMA");
    if (is_first && has_fault("crash")) {
        abort(); /* PoCL handles SIGSEGV */
    }
    if (is_first && has_fault("hang")) {
        pause();
    }
    if ((is_first && has_fault("refuse")) || is_amd) {
        return CL_BUILD_PROGRAM_FAILURE;
    }
    snprintf(own, sizeof own, "%s", options);
    replace_option(own, sizeof own, "-DMATRIX_NV80", "-DMATRIX_EMULATED");
    replace_option(own, sizeof own, "-DHAS_DP4A", "");
    replace_option(own, sizeof own, "-DHAS_INTEGER_DOT_PRODUCT", "");
    *(void **)&build = dlsym(RTLD_NEXT, "clBuildProgram");
    return build(program, count, devices, own, notify, user);
}

/* Returns whether $TEST_SKIP contains the kernel, as "gemm_matrix_gpu/3 " with the precision. */
static int is_skipped(cl_kernel kernel)
{
    const char *skip = getenv("TEST_SKIP");
    char name[128] = "", options[4096] = "", entry[160];
    cl_program program;
    cl_device_id device;
    if (skip == NULL ||
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS ||
        clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL) != CL_SUCCESS ||
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL) !=
            CL_SUCCESS) {
        return 0;
    }
    const char *precision = strstr(options, "-DPRECISION=");
    snprintf(entry, sizeof entry, "%s/%c ", name,
             precision != NULL ? precision[strlen("-DPRECISION=")] : '-');
    return strstr(skip, entry) != NULL;
}

/* A kernel that is skipped is a fast one: it takes a millisecond. */
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *size, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                     cl_uint, const cl_event *, cl_event *);
    *(void **)&launch = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (is_skipped(kernel)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        return CL_SUCCESS;
    }
    return launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

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
    clf__level_trial_limit(600.0);
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

/* Opens and closes the device. is_used: NV80 is expected; trials and results stored; the last trial is
 * copied. */
static struct clf__level_trial last;
static void check_level(const char *skip, const char *fault, int is_used, int trials, int results)
{
    struct clf_device *device = open_with(skip, fault);
    assert_int_equal(device->caps.level->name == CLF_INSTRUCTIONS_NV80, is_used);
    assert_int_equal(device->caps.level->matrix.define != NULL, is_used);
    assert_int_equal(clf_device_describe(device)->instructions, device->caps.level->name);
    assert_int_equal(device->trials.count, trials);
    if (trials > 0) {
        last = device->trials.trials[trials - 1];
        assert_int_equal(clf__level_trial_is_used(&last), is_used);
    }
    clf_device_close(device);
    assert_int_equal(for_results(NULL), results);
}

static void test_fast_level_is_used(void **state)
{
    (void)state;
    check_level(fast, "", 1, 1, 1);
    assert_true(clf__level_trial_gain(&last, CLF__TRIAL_FP16) >= CLF__LEAST_GAIN);
    assert_int_equal(warnings, 0);
    struct clf__level_trial first = last;
    check_level(fast, "crash", 1, 1, 1); /* is not tried again */
    assert_true(last.rates[0] == first.rates[0] && last.plain_rates[1] == first.plain_rates[1]);
}

/* Emulated instructions are slower than plain code. */
static void test_slow_level(void **state)
{
    (void)state;
    check_level("", "", 0, 1, 1);
    assert_in_range((int)(1000.0 * clf__level_trial_gain(&last, CLF__TRIAL_FP16)), 1, 1499);
    assert_string_equal(last.failure, "");
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
    check_level(no_results, "", 0, 1, 1);
    assert_string_equal(last.failure, "matrix instructions nv80 give wrong results");
    check_level(fast, "", 0, 1, 1);
}

static void test_refused_program(void **state)
{
    (void)state;
    check_level(fast, "refuse", 0, 1, 1);
    assert_string_equal(last.failure,
                        "cannot compile program probe_matrix: CL_BUILD_PROGRAM_FAILURE (-11): the "
                        "driver gave no log");
    assert_int_equal(warnings, 0);
}

static void test_crash(void **state)
{
    (void)state;
    check_level(fast, "crash", 0, 1, 1);
    assert_non_null(strstr(logged, "matrix instructions nv80: not used: their trial crashed (signal 6)"));
    assert_int_equal(warnings, 1);
    check_level(fast, "", 0, 1, 1);
    assert_non_null(strstr(logged, "their trial crashed (signal 6); to try again, delete "));
    assert_int_equal(warnings, 0);
}

static void test_hang(void **state)
{
    (void)state;
    clf__level_trial_limit(1.5);
    check_level(fast, "hang", 0, 1, 1);
    assert_non_null(strstr(logged, "nv80: not used: their trial took more than 1.5 seconds"));
    assert_int_equal(warnings, 1);
}

static void test_changed_driver(void **state)
{
    (void)state;
    setenv("TEST_DRIVER", "1.0", 1);
    check_level(fast, "crash", 0, 1, 1);
    setenv("TEST_DRIVER", "2.0", 1);
    check_level(fast, "", 1, 1, 2);
}

static void test_damaged_result(void **state)
{
    (void)state;
    check_level("", "refuse", 0, 1, 1);
    for_results(damage_file);
    check_level(fast, "", 1, 1, 1); /* tried again and stored */
    check_level("", "crash", 1, 1, 1);
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

/* Other programs than the command. */
static void test_without_child(void **state)
{
    (void)state;
    unsetenv("CLFORMER_PROBE");
    check_level(fast, "", 1, 1, 1);
    for_results(delete_file);
    check_level(fast, "refuse", 0, 1, 1);
    for_results(delete_file);
    const char *const commands[] = {"/nonexistent", "/bin/false"};
    const char *const reasons[] = {
        "CLFORMER_PROBE: /nonexistent: cannot be started: No such file or directory",
        "CLFORMER_PROBE: /bin/false is not the clformer command (exit status 1)"};
    for (int i = 0; i < 2; i++) {
        setenv("CLFORMER_PROBE", commands[i], 1);
        check_level(fast, "", 1, 1, 1);
        assert_non_null(strstr(logged, reasons[i]));
        for_results(delete_file);
    }
    unsetenv("CLFORMER_PROBE");
    setenv("TEST_VENDOR", "amd", 1);
    check_level(fast, "crash", 0, 3, 0);
    assert_non_null(strstr(last.failure, "run `clformer devices` once"));
}

/* The command itself, for which the device is a CPU. */
static void test_command(void **state)
{
    (void)state;
    setenv("CLFORMER_PROBE", CLF_BUILD_FOLDER "/clformer", 1);
    check_level(fast, "", 0, 1, 1);
    assert_non_null(
        strstr(last.failure, "does not support the requested instructions nv80; choose from: portable"));
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
    check_level(fast, "refuse", 0, 1, 0);
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
        TEST(test_fast_level_is_used), TEST(test_slow_level),     TEST(test_wrong_results),
        TEST(test_refused_program),    TEST(test_crash),          TEST(test_hang),
        TEST(test_changed_driver),     TEST(test_damaged_result), TEST(test_int8),
        TEST(test_without_child),      TEST(test_command),        TEST(test_order),
        TEST(test_nothing_to_try),     TEST(test_changed_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
