/* The key of a device in the cache folder: a kernel update changes the name that radeonsi reports, but not
 * the key. The function below replaces a function of the OpenCL loader and changes the name of the device. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/opencl.h"
#include "runtime/program/ahead.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "runtime/tuning/device_key.h"
#include "runtime/tuning/tuning.h"
#include "support/cache_home.h"
#include "support/support.h"

static const char *fake_name; /* NULL: the driver's own */

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    if (what != CL_DEVICE_NAME || fake_name == NULL) {
        return ask(device, what, size, out, told);
    }
    if (told != NULL) {
        *told = strlen(fake_name) + 1;
    }
    if (out != NULL) {
        snprintf(out, size, "%s", fake_name);
    }
    return CL_SUCCESS;
}

static char *key_of(const char *name, int index)
{
    const struct clf_device_info info = {.index = index,
                                         .name = name,
                                         .version = "OpenCL 3.0 ",
                                         .driver = "24.0.1",
                                         .platform_name = "rusticl",
                                         .platform_version = "OpenCL 3.0 "};
    char *key = NULL;
    assert_ok(clf__device_key(&key, &info));
    return key;
}

static int is_same(const char *first, const char *second)
{
    char *a = key_of(first, 0), *b = key_of(second, 1);
    int same = strcmp(a, b) == 0;
    clf__free(a);
    clf__free(b);
    return same;
}

static void test_names(void **state)
{
    (void)state;
    struct utsname system;
    char here[512], there[512];
    assert_int_equal(uname(&system), 0);
    snprintf(here, sizeof here, "AMD Radeon RX 6800 (navi21, LLVM 15.0.7, DRM 3.49, %s)", system.release);
    snprintf(there, sizeof there, "AMD Radeon RX 6800 (navi21, LLVM 15.0.7, DRM 3.57, %s)", system.release);
    assert_true(is_same(here, there));
    assert_true(is_same(here, "AMD Radeon RX 6800 (navi21, LLVM 15.0.7)"));
    assert_false(is_same(here, "AMD Radeon RX 6800 (navi21, LLVM 16.0.6)"));
    assert_false(is_same(here, "AMD Radeon RX 6900 (navi21, LLVM 15.0.7)"));
    assert_true(is_same("a, DRM", "a, DRM"));
    assert_false(is_same("a, DRM", "a"));
    assert_true(is_same("a, DRM 3", "a"));
    assert_false(is_same("pthread, DRMS", "pthread"));
}

static const char source[] = "__kernel void named(__global float *y) { y[0] = 7.0f; }\n";

/* Opens the device, runs a kernel and closes it; returns the number of compiled programs. */
static int use_device(const char *name)
{
    struct clf_device *device;
    struct clf__buffer *y;
    int built, loaded;
    fake_name = name;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_string_equal(clf_device_describe(device)->name, name);
    assert_ok(clf__program_add_source(device, "named", source));
    clf__programs_ahead_begin(device, "the work");
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
    const struct clf__argument arguments[] = {CLF__BUFFER(y)};
    const struct clf__launch launch = {
        .program = "named", CLF__ON_BOTH("named", {1}, {1}), CLF__ARGUMENTS(arguments)};
    assert_ok(clf__launch(device, &launch));
    clf__program_counts(device, &built, &loaded);
    clf__buffer_free(y);
    clf_device_close(device);
    fake_name = NULL;
    return built;
}

static int count_files(const char *home)
{
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/clformer", home);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static void test_programs_survive(void **state)
{
    (void)state;
    const char *home = support_temporary_folder();
    set_cache_home(home);
    assert_true(use_device("Card (chip, LLVM 15.0.7, DRM 3.49)") >= 2);
    int files = count_files(home);
    assert_int_equal(use_device("Card (chip, LLVM 15.0.7, DRM 3.57)"), 0);
    assert_int_equal(count_files(home), files);
    assert_true(use_device("Card (chip, LLVM 16.0.6, DRM 3.57)") >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_names, support_teardown),
        cmocka_unit_test_teardown(test_programs_survive, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
