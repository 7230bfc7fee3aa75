/* Listing and opening devices: available ones, variants from options and environment, and no driver at
   all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "open/probe.h"
#include "runtime/device/caps.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/program/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

static void test_list(void **state)
{
    (void)state;
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int count = clf_device_list_count(list);
    assert_true(count > 0);
    int candidates = 0;
    for (int i = 0; i < count; i++) {
        const struct clf_device_info *info = clf_device_list_at(list, i);
        assert_int_equal(info->index, i);
        assert_true(strlen(info->name) > 0 && strlen(info->version) > 0 && strlen(info->platform_name) > 0);
        assert_non_null(info->vendor);
        assert_non_null(info->driver);
        assert_non_null(info->platform_vendor);
        assert_non_null(info->platform_version);
        assert_true(info->compute_units > 0 && info->max_buffer_bytes > 0);
        assert_true(info->memory_bytes >= info->max_buffer_bytes);
        assert_true(info->variant == CLF_VARIANT_CPU || info->variant == CLF_VARIANT_GPU);
        assert_true(strlen(info->order_reason) > 0);
        candidates += info->candidate_order >= 0;
        assert_true(info->candidate_order < count);
    }
    assert_true(candidates > 0);
    assert_null(clf_device_list_at(list, -1));
    assert_null(clf_device_list_at(list, count));
    clf_device_list_free(list);
    clf_device_list_free(NULL);
}

static void test_selectors_open(void **state)
{
    (void)state;
    struct clf_device *device;
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int index = clf_device_describe(support_device(CLF_VARIANT_CPU))->index;
    const struct clf_device_info *info = clf_device_list_at(list, index);
    char number[16];
    snprintf(number, sizeof number, "%d", index);
    assert_ok(clf_device_open(&device, number, NULL));
    assert_string_equal(clf_device_describe(device)->name, info->name);
    assert_int_equal(clf_device_describe(device)->index, index);
    clf_device_close(device);
    assert_ok(clf_device_open(&device, info->name, NULL));
    assert_string_equal(clf_device_describe(device)->name, info->name);
    clf_device_close(device);
    clf_device_close(NULL);
    assert_fails(clf_device_open(&device, "no such device", NULL), CLF_NO_DEVICE, info->name);
    clf_device_list_free(list);
}

static void test_failures_leave_null(void **state)
{
    (void)state;
    int some; /* initial value of output pointers: must be replaced */
    struct clf_device *device = (void *)&some;
    assert_fails(clf_device_open(&device, "no such device", NULL), CLF_NO_DEVICE, "no such device");
    assert_null(device);
    struct clf_device_list *list = (void *)&some;
    clf__memory_fail_at(2);
    clf_status status = clf_device_list_create(&list);
    clf__memory_fail_at(0);
    assert_fails(status, CLF_OUT_OF_MEMORY, "");
    assert_null(list);
}

/* The environment's device is a default; an argument takes precedence. */
static void test_environment_device(void **state)
{
    (void)state;
    struct clf_device *device;
    char *before = getenv("CLFORMER_DEVICE") ? strdup(getenv("CLFORMER_DEVICE")) : NULL;
    setenv("CLFORMER_DEVICE", "no such device", 1);
    assert_fails(clf_device_open(&device, NULL, NULL), CLF_NO_DEVICE, "no such device");
    assert_fails(clf_device_open(&device, "", NULL), CLF_NO_DEVICE, "no such device");
    assert_ok(clf_device_open(&device, "0", NULL));
    clf_device_close(device);
    unsetenv("CLFORMER_DEVICE");
    if (before) {
        setenv("CLFORMER_DEVICE", before, 1);
        free(before);
    }
}

static void assert_caps(const struct clf_device_options *options, clf_variant variant, clf_gemm gemm,
                        clf_attention attention)
{
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, options));
    const struct clf__caps *caps = clf__device_caps(device);
    assert_int_equal(caps->variant, variant);
    assert_int_equal(caps->gemm, gemm);
    assert_int_equal(caps->attention, attention);
    assert_true(caps->max_work_group > 0 && caps->compute_units > 0);
    clf_device_close(device);
}

/* CLBlast is used only on the caller's request. */
static void test_provider(void **state)
{
    (void)state;
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_GEMM");
    for (int own = CLF_VARIANT_CPU; own <= CLF_VARIANT_GPU; own++) {
        for (int variant = CLF_VARIANT_AUTO; variant <= CLF_VARIANT_GPU; variant++) {
            struct clf__listed_device device = {.info = {.variant = (clf_variant)own, .name = "made up"},
                                                .max_work_group = CLF__TILE_GROUP};
            struct clf_device_options options;
            clf_device_options_init(&options);
            options.variant = (clf_variant)variant;
            struct clf__caps caps;
            assert_ok(clf__caps_choose(&caps, &device, &options));
            assert_int_equal(caps.gemm, CLF_GEMM_NATIVE);
            options.gemm = CLF_GEMM_CLBLAST;
            assert_ok(clf__caps_choose(&caps, &device, &options));
            assert_int_equal(caps.gemm, CLF_GEMM_CLBLAST);
        }
    }
}

/* Reported device features are passed to its compiler, and PORTABLE hides instructions. */
static void test_build_options(void **state)
{
    (void)state;
    for (int has = 0; has < 2; has++) {
        for (int portable = 0; portable < 2; portable++) {
            struct clf__listed_device device = {.info = {.variant = CLF_VARIANT_GPU, .name = "made up"},
                                                .max_work_group = CLF__TILE_GROUP,
                                                .has_dp4a = has,
                                                .has_exact_division = has};
            struct clf_device_options options;
            clf_device_options_init(&options);
            options.instructions = portable ? CLF_INSTRUCTIONS_PORTABLE : CLF_INSTRUCTIONS_AUTO;
            struct clf__caps caps;
            char *text;
            assert_ok(clf__caps_choose(&caps, &device, &options));
            assert_ok(clf__caps_build_options(&text, &device, &caps));
            assert_int_equal(caps.has_integer_dot_product, has && !portable);
            assert_int_equal(strstr(text, "-DHAS_DP4A") != NULL, has && !portable);
            assert_int_equal(strstr(text, "-cl-fp32-correctly-rounded-divide-sqrt") != NULL, has);
            clf__free(text);
            device.max_work_group = CLF__TILE_GROUP - 1;
            assert_fails(clf__caps_choose(&caps, &device, &options), CLF_UNSUPPORTED, "127 work-items");
        }
    }
}

static void test_choices(void **state)
{
    (void)state;
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_GEMM");
    unsetenv("CLFORMER_ATTENTION");
    clf_variant own = clf_device_describe(support_device(CLF_VARIANT_CPU))->variant;
    struct clf_device_options options;
    clf_device_options_init(&options);
    assert_caps(NULL, own, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    setenv("CLFORMER_VARIANT", "gpu", 1);
    setenv("CLFORMER_GEMM", "clblast", 1);
    setenv("CLFORMER_ATTENTION", "batched", 1);
    assert_caps(&options, CLF_VARIANT_GPU, CLF_GEMM_CLBLAST, CLF_ATTENTION_BATCHED);
    options.variant = CLF_VARIANT_CPU; /* the caller takes precedence over the environment */
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    assert_caps(&options, CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    setenv("CLFORMER_VARIANT", "auto", 1);
    options.variant = CLF_VARIANT_AUTO;
    assert_caps(&options, own, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    setenv("CLFORMER_VARIANT", "fast", 1);
    struct clf_device *device;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT,
                 "CLFORMER_VARIANT: unknown value \"fast\"; use auto, cpu or gpu");
    unsetenv("CLFORMER_VARIANT");
    setenv("CLFORMER_GEMM", "Native", 1);
    options.gemm = CLF_GEMM_AUTO;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT, "CLFORMER_GEMM");
    unsetenv("CLFORMER_GEMM");
    setenv("CLFORMER_ATTENTION", "maps", 1);
    options.attention = CLF_ATTENTION_AUTO;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT, "auto, fused or batched");
    unsetenv("CLFORMER_ATTENTION");
    setenv("CLFORMER_INSTRUCTIONS", "avx", 1);
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT,
                 "CLFORMER_INSTRUCTIONS: unknown value \"avx\"; use auto, portable, avx2, avx-vnni, avx512, "
                 "avx512-vnni, avx512-bf16, amx, neon, dotprod, nv80, mfma, wmma11, wmma12, emulated, nv75, "
                 "dpas8 or dpas16");
    unsetenv("CLFORMER_INSTRUCTIONS");
    setenv("CLFORMER_TUNING", "no", 1);
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT,
                 "CLFORMER_TUNING: unknown value \"no\"; use on or off");
    setenv("CLFORMER_TUNING", "off", 1);
    options.gemm = (clf_gemm)7;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT, "gemm 7");
    options.gemm = CLF_GEMM_AUTO;
    options.instructions = (clf_instructions)99;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_BAD_ARGUMENT, "instructions 99");
}

/* The device describes the features found by its first kernel, without the disabled ones. */
static void test_instructions(void **state)
{
    (void)state;
    unsetenv("CLFORMER_INSTRUCTIONS");
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    assert_ok(clf_device_open(&device, NULL, &options));
    const struct clf_device_info *info = clf_device_describe(device);
    int instructions = -1;
    assert_ok(clf__probe(device, "probe", &instructions));
    const struct clf__level *level = clf__device_caps(device)->level;
    if (info->kind == CLF_DEVICE_CPU) {
        assert_int_equal(info->has_dot_int8, (instructions & CLF__DOT_INT8_ANY) != 0);
    }
    assert_int_equal(info->has_dot_bf16, (instructions & CLF__DOT_BF16) != 0);
    assert_int_equal(level->instructions & ~instructions & ~CLF__WIDE, 0);
    assert_int_equal(info->instructions, level->name);
    clf_device_close(device);
    options.instructions = CLF_INSTRUCTIONS_PORTABLE;
    for (int by_environment = 0; by_environment < 2; by_environment++) {
        assert_ok(clf_device_open(&device, NULL, &options));
        const struct clf__caps *caps = clf__device_caps(device);
        assert_false((caps->level->instructions & ~CLF__WIDE) != 0 || caps->has_integer_dot_product);
        assert_false(clf_device_describe(device)->has_dot_int8);
        clf_device_close(device);
        options.instructions = CLF_INSTRUCTIONS_AUTO;
        setenv("CLFORMER_INSTRUCTIONS", "portable", 1);
    }
    unsetenv("CLFORMER_INSTRUCTIONS");
}

/* Every level but the portable one is the device's own, or is rejected with a list of supported ones. */
static void test_levels(void **state)
{
    (void)state;
    unsetenv("CLFORMER_INSTRUCTIONS");
    for (int i = CLF_INSTRUCTIONS_PORTABLE; clf__level_words[i] != NULL; i++) {
        struct clf_device_options options;
        clf_device_options_init(&options);
        options.instructions = (clf_instructions)i;
        struct clf_device *device = NULL;
        if (clf_device_open(&device, NULL, &options) == CLF_OK) {
            assert_int_equal(clf__device_caps(device)->level->name, i);
        } else {
            assert_int_not_equal(i, CLF_INSTRUCTIONS_PORTABLE);
            assert_fails(clf_device_open(&device, NULL, &options), CLF_UNSUPPORTED, clf__level_words[i]);
            assert_fails(clf_device_open(&device, NULL, &options), CLF_UNSUPPORTED, "choose from: portable");
        }
        clf_device_close(device);
    }
}

/* A device whose first check gives a wrong result is rejected. */
static void test_wrong_answer(void **state)
{
    (void)state;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf__program_add_source(
        device, "wrong",
        "__kernel void probe_cpu(__global float *y, const __global float *x, float scale, int count, int "
        "asks)\n"
        "{\n"
        "    for (int i = get_local_id(0); i < count; i += get_local_size(0)) y[i] = x[i] * scale;\n"
        "}\n"
        "__kernel void probe_gpu(__global float *y, const __global float *x, float scale, int count, int "
        "asks)\n"
        "{\n"
        "    for (int i = get_local_id(0); i < count; i += get_local_size(0)) y[i] = x[i] * scale;\n"
        "}\n"));
    int instructions = -1;
    assert_ok(clf__probe(device, "probe", &instructions));
    assert_in_range(instructions, 0, 2 * CLF__TILES_REFUSED - 1);
    assert_fails(clf__probe(device, "wrong", &instructions), CLF_DEVICE,
                 "wrong results: element 0 of the first test kernel is -6 instead of -8");
    clf_device_close(device);
}

/* Runs this program again as `child` with one more environment variable; returns its exit status. */
static int run_child(const char *child, const char *variable, const char *value)
{
    fflush(NULL);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        unsetenv("LD_PRELOAD"); /* Oclgrind's way of being the only driver */
        unsetenv("CLFORMER_DEVICE");
        setenv(variable, value, 1);
        execl("/proc/self/exe", "test_device_devices", child, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* In the child: the list is empty, and opening fails with a message that contains `part`. */
static int finds_nothing(const char *part)
{
    struct clf_device_list *list;
    struct clf_device *device;
    if (clf_device_list_create(&list) != CLF_OK || clf_device_list_count(list) != 0) {
        return 1;
    }
    clf_device_list_free(list);
    if (clf_device_open(&device, NULL, NULL) != CLF_NO_DEVICE || !strstr(clf_last_error(), part) ||
        clf_device_open(&device, "gpu", NULL) != CLF_NO_DEVICE || !strstr(clf_last_error(), part)) {
        fprintf(stderr, "%s\n", clf_last_error());
        return 2;
    }
    return 0;
}

static void test_no_driver(void **state)
{
    (void)state;
    assert_int_equal(run_child("no-driver", "OCL_ICD_VENDORS", "/nonexistent"), 0);
}

static void test_pocl_without_cache(void **state)
{
    (void)state;
    const char *vendors = getenv("OCL_ICD_VENDORS");
    const struct clf_device_info *info = clf_device_describe(support_device(CLF_VARIANT_CPU));
    if (!strstr(info->version, "PoCL") || !vendors || !strstr(vendors, "pocl.icd")) {
        skip(); /* needs PoCL as the only driver */
    }
    char path[256]; /* a folder below a file: not even root can create it */
    snprintf(path, sizeof path, "%s/file", support_temporary_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    strcat(path, "/pocl");
    assert_int_equal(run_child("pocl-without-cache", "POCL_CACHE_DIR", path), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return finds_nothing(strcmp(argv[1], "no-driver") == 0 ? "pocl-opencl-icd" : "POCL_CACHE_DIR");
    }
    set_cache_home(support_temporary_folder());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_wrong_answer),
        cmocka_unit_test(test_selectors_open),
        cmocka_unit_test(test_failures_leave_null),
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_pocl_without_cache),
        cmocka_unit_test(test_environment_device),
        cmocka_unit_test(test_provider),      /* these two change the environment */
        cmocka_unit_test(test_build_options), /* these two change the environment */
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests_name("device/devices", tests, NULL, NULL);
}
