/* A GPU that runs small groups but fails in the kernels of models is skipped for the next device, and the
 * result of the check is cached. PoCL shows its CPU twice; the functions below replace functions of the
 * OpenCL loader: the first of the two is a GPU with faults. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clformer/log.h>

#include "runtime/opencl/opencl.h"
#include "support/cache_home.h"
#include "support/support.h"

enum { LARGE_GROUP = 65 };
static enum { WORKS, FAILS_LARGE_GROUPS, SKIPS_LARGE_GROUPS, LIMITS_GROUPS } fault;
static int large_launches;

static int is_first(cl_device_id device)
{
    static cl_device_id first;
    first = first == NULL ? device : first;
    return device == first;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    cl_int error = ask(device, what, size, out, told);
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && out != NULL && is_first(device)) {
        const cl_bool no = CL_FALSE; /* otherwise it would be compared with the CPU */
        memcpy(out, &no, sizeof no);
    }
    if (what == CL_DEVICE_TYPE && is_first(device)) {
        const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
        memcpy(out, &gpu, sizeof gpu);
    }
    return error;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetKernelWorkGroupInfo");
    cl_int error = ask(kernel, device, what, size, out, told);
    if (what == CL_KERNEL_WORK_GROUP_SIZE && fault == LIMITS_GROUPS) {
        const size_t limit = LARGE_GROUP - 1;
        memcpy(out, &limit, sizeof limit);
    }
    return error;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *size, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                     cl_uint, const cl_event *, cl_event *);
    *(void **)&launch = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (group[0] >= LARGE_GROUP) {
        large_launches++;
        if (fault != WORKS) {
            return fault == SKIPS_LARGE_GROUPS ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
        }
    }
    return launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

static char warning[1024];
static void keep_warning(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        snprintf(warning, sizeof warning, "%s", message);
    }
}

/* Opens the default device, which is the GPU or the CPU; a warning, if any, is kept. */
static clf_device_kind open_default(void)
{
    struct clf_device *device;
    warning[0] = '\0';
    large_launches = 0;
    clf_log_set(keep_warning, NULL);
    assert_ok(clf_device_open(&device, NULL, NULL));
    clf_device_kind kind = clf_device_describe(device)->kind;
    clf_device_close(device);
    clf_log_set(NULL, NULL);
    return kind;
}

static const char *home;

/* Counts the files with results, and optionally deletes them. */
static int count_results(int deletes)
{
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/clformer", home);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "check-", 6) == 0) {
            count++;
            snprintf(path, sizeof path, "%s/clformer/%s", home, entry->d_name);
            assert_true(!deletes || unlink(path) == 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static int begin(void **state)
{
    (void)state;
    home = support_temporary_folder();
    set_cache_home(home);
    fault = WORKS;
    return 0;
}

static void test_success_is_remembered(void **state)
{
    (void)state;
    assert_int_equal(open_default(), CLF_DEVICE_GPU);
    assert_true(large_launches >= 3); /* tiles, few rows, and an attention step of several streams */
    assert_int_equal(count_results(0), 1);
    assert_int_equal(open_default(), CLF_DEVICE_GPU);
    assert_int_equal(large_launches, 0);
}

/* A temporary failure is not cached. */
static void test_failing_launches(void **state)
{
    (void)state;
    fault = FAILS_LARGE_GROUPS;
    assert_int_equal(open_default(), CLF_DEVICE_CPU);
    assert_non_null(strstr(warning, "skipped: running kernel gemm_weight_tile_gpu"));
    assert_int_equal(count_results(0), 0);
    fault = WORKS;
    assert_int_equal(open_default(), CLF_DEVICE_GPU);
}

static void check_lasting(const char *reason)
{
    assert_int_equal(open_default(), CLF_DEVICE_CPU);
    assert_non_null(strstr(warning, reason));
    fault = WORKS;
    assert_int_equal(open_default(), CLF_DEVICE_CPU);
    assert_non_null(strstr(warning, "at an earlier start: "));
    assert_non_null(strstr(warning, reason));
    assert_int_equal(large_launches, 0);
    setenv("CLFORMER_WITHOUT", "check", 1);
    assert_int_equal(open_default(), CLF_DEVICE_GPU);
    unsetenv("CLFORMER_WITHOUT");
    assert_int_equal(count_results(1), 1);
    assert_int_equal(open_default(), CLF_DEVICE_GPU);
}

static void test_wrong_results(void **state)
{
    (void)state;
    fault = SKIPS_LARGE_GROUPS;
    check_lasting("wrong results: row ");
}

static void test_limits(void **state)
{
    (void)state;
    fault = LIMITS_GROUPS;
    check_lasting("a group needs 128 work-items");
}

/* Without a cache folder, the check runs at every start. */
static void test_without_cache(void **state)
{
    (void)state;
    setenv("CLFORMER_CACHE_BYTES", "0", 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_default(), CLF_DEVICE_GPU);
        assert_true(large_launches >= 3);
    }
    assert_int_equal(count_results(0), 0);
    unsetenv("CLFORMER_CACHE_BYTES");
}

int main(void)
{
    setenv("POCL_DEVICES", "basic pthread", 1);
    unsetenv("CLFORMER_DEVICE");
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_GEMM");
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int count = clf_device_list_count(list);
    clf_device_list_free(list);
    if (count < 2) {
        return 0; /* another driver than PoCL */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_success_is_remembered, begin, support_teardown),
        cmocka_unit_test_setup_teardown(test_failing_launches, begin, support_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_results, begin, support_teardown),
        cmocka_unit_test_setup_teardown(test_limits, begin, support_teardown),
        cmocka_unit_test_setup_teardown(test_without_cache, begin, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
