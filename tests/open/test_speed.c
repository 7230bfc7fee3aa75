/* A measurement chooses the default device between an integrated GPU and a processor, and between two drivers
 * of one GPU. PoCL shows its CPU twice; the functions below replace functions of the OpenCL loader and turn
 * the two into such devices. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/memory.h"
#include "open/kept.h"
#include "open/speed.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/tuning/device_key.h"
#include "support/cache_home.h"
#include "support/support.h"

static enum { INTEGRATED, TWINS } machine;
static int launches;

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
    const char *extensions = "cl_khr_pci_bus_info";
    if (what == CL_DEVICE_EXTENSIONS) {
        if (told != NULL) {
            *told = strlen(extensions) + 1;
        }
        if (out != NULL) {
            snprintf(out, size, "%s", machine == TWINS ? extensions : "");
        }
        return CL_SUCCESS;
    }
    if (what == CL_DEVICE_PCI_BUS_INFO_KHR) {
        const cl_device_pci_bus_info_khr place = {0, 3, 0, 0};
        memcpy(out, &place, sizeof place);
        *told = sizeof place;
        return CL_SUCCESS;
    }
    cl_int error = ask(device, what, size, out, told);
    if (what == CL_DEVICE_TYPE && (machine == TWINS || is_first(device))) {
        const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
        memcpy(out, &gpu, sizeof gpu);
    } else if (what == CL_DEVICE_HOST_UNIFIED_MEMORY) {
        const cl_bool shares = machine == INTEGRATED;
        memcpy(out, &shares, sizeof shares);
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
    launches++;
    return launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

/* Stores a speed as if it had been measured; 0: the devices are measured. */
static void set_speeds(double first, double second)
{
    struct clf_device_list *list;
    set_cache_home(support_temporary_folder());
    assert_ok(clf_device_list_create(&list));
    for (int i = 0; i < 2 && first > 0.0; i++) {
        char *folder = NULL, *key = NULL, text[32];
        snprintf(text, sizeof text, "%g\n", i == 0 ? first : second);
        assert_ok(clf__environment_cache_folder(&folder));
        assert_ok(clf__device_key(&key, clf_device_list_at(list, i)));
        assert_ok(clf__kept_write(folder, "speed", key, text));
        clf__free(key);
        clf__free(folder);
    }
    clf_device_list_free(list);
}

/* The index of the default device; its reason is kept. */
static char reason[256];
static int open_default(void)
{
    struct clf_device *device;
    launches = 0;
    assert_ok(clf_device_open(&device, NULL, NULL));
    const struct clf_device_info *info = clf_device_describe(device);
    int index = info->index;
    assert_int_equal(info->candidate_order, 0);
    snprintf(reason, sizeof reason, "%s", info->order_reason);
    clf_device_close(device);
    return index;
}

static void check_machine(void)
{
    char expected[256];
    setenv("CLFORMER_WITHOUT", "speed", 1);
    set_speeds(1e9, 1e9);
    int first = open_default(); /* from the reports of the drivers */
    unsetenv("CLFORMER_WITHOUT");
    set_speeds(first == 0 ? 2e9 : 3e9, first == 0 ? 3e9 : 2e9);
    assert_int_equal(open_default(), 1 - first);
    snprintf(expected, sizeof expected, "reached 3 GFLOP/s in matrix multiplication, and device %d reached 2",
             first);
    assert_string_equal(reason, expected);
    set_speeds(first == 0 ? 3e9 : 2e9, first == 0 ? 2e9 : 3e9);
    assert_int_equal(open_default(), first);
    set_speeds(first == 0 ? 2e9 : 2.1e9, first == 0 ? 2.1e9 : 2e9); /* hardly faster */
    assert_int_equal(open_default(), first);
}

static void test_integrated_gpu(void **state)
{
    (void)state;
    machine = INTEGRATED;
    check_machine();
}

static void test_two_drivers(void **state)
{
    (void)state;
    machine = TWINS;
    check_machine();
}

/* Both devices are measured once. */
static void test_measurement(void **state)
{
    (void)state;
    struct clf_device_list *list;
    double rate = 0.0;
    machine = INTEGRATED;
    set_speeds(0.0, 0.0);
    int first = open_default();
    assert_true(launches >= 10);
    assert_ok(clf_device_list_create(&list));
    for (int i = 0; i < 2; i++) {
        assert_ok(clf__speed_read(&rate, clf_device_list_at(list, i)));
        assert_true(rate > 1e6 && rate < 1e15);
    }
    clf_device_list_free(list);
    assert_int_equal(open_default(), first);
    assert_int_equal(launches, 1); /* the device's first kernel */
}

/* The other devices move back by one position. */
static void test_order(void **state)
{
    (void)state;
    struct clf__listed_device devices[5];
    struct clf_device_list list = {.devices = devices, .count = 5};
    const double rates[2] = {4e11, 2e11};
    for (int i = 0; i < 5; i++) {
        devices[i] =
            (struct clf__listed_device){.info = {.index = i, .candidate_order = i - 1, .pci_address = ""}};
    }
    devices[1].info.kind = devices[2].info.kind = CLF_DEVICE_GPU;
    devices[3].info.kind = devices[4].info.kind = CLF_DEVICE_CPU;
    assert_int_equal(clf__choice_rival(&list), -1); /* a discrete GPU */
    devices[1].info.shares_memory = 1;
    assert_int_equal(clf__choice_rival(&list), 3);
    devices[1].info.pci_address = devices[4].info.pci_address = "0000:03:00.0";
    assert_int_equal(clf__choice_rival(&list), 4);
    clf__choice_prefer(&list, 3, rates);
    static const int expected[5] = {-1, 1, 2, 0, 3};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(devices[i].info.candidate_order, expected[i]);
    }
    assert_string_equal(devices[1].info.order_reason,
                        "after device 3, which reached 400 GFLOP/s in matrix multiplication; "
                        "this one reached 200");
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
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_integrated_gpu, support_teardown),
        cmocka_unit_test_teardown(test_two_drivers, support_teardown),
        cmocka_unit_test_teardown(test_measurement, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
