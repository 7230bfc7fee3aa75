/* The default order and the selectors, over hand-made lists. */
#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "base/ascii.h"
#include "runtime/opencl/listed_device.h"
#include "support/support.h"

enum { COUNT = 8 };

static struct clf__listed_device make(clf_device_kind kind, const char *name, const char *platform_vendor,
                                      int gibibytes)
{
    struct clf__listed_device device = {.is_available = 1, .version = 30};
    device.info = (struct clf_device_info){.kind = kind,
                                           .name = name,
                                           .vendor = "Maker",
                                           .version = "OpenCL 3.0 driver 7",
                                           .driver = "7",
                                           .platform_name = "Platform",
                                           .platform_vendor = platform_vendor,
                                           .platform_version = "OpenCL 3.0",
                                           .pci_address = "",
                                           .uuid = "",
                                           .has_compiler = 1,
                                           .memory_bytes = (uint64_t)gibibytes << 30};
    return device;
}

static struct clf__listed_device devices[COUNT];
static struct clf_device_list list;

static int make_list(void **state)
{
    (void)state;
    devices[0] = make(CLF_DEVICE_OTHER, "Simulator", "Sim", 8);
    devices[1] = make(CLF_DEVICE_CPU, "Other processor", "Intel", 8);
    devices[2] = make(CLF_DEVICE_GPU, "Tiny", "Acme", 0);
    devices[3] = make(CLF_DEVICE_CPU, "pthread-processor", "The PoCL project", 8);
    devices[4] = make(CLF_DEVICE_GPU, "Radiant 9000", "Acme", 16);
    devices[5] = make(CLF_DEVICE_GPU, "Without compiler", "Acme", 16);
    devices[5].info.has_compiler = 0;
    devices[6] = make(CLF_DEVICE_GPU, "Radiant 9001", "Acme", 16);
    devices[7] = make(CLF_DEVICE_GPU, "Old", "Acme", 16);
    devices[7].version = 11;
    for (int i = 0; i < COUNT; i++) {
        devices[i].info.index = i;
    }
    list = (struct clf_device_list){.devices = devices, .count = COUNT, .platform_count = 5, .silent = ""};
    clf__choice_order(&list);
    return 0;
}

static void test_default_order(void **state)
{
    (void)state;
    static const int expected[COUNT] = {5, 3, 4, 2, 0, -1, 1, -1};
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(devices[i].info.candidate_order, expected[i]);
        assert_true(strlen(devices[i].info.order_reason) > 0);
        if (expected[i] >= 0) {
            assert_int_equal(clf__choice_candidate(&list, expected[i]), i);
        }
    }
    assert_int_equal(clf__choice_candidate(&list, 6), -1);
    assert_int_equal(clf__choice_candidate(&list, -1), -1);
}

static void assert_selects(const char *selector, int expected)
{
    int index = -1;
    assert_ok(clf__choice_select(&index, &list, selector));
    assert_int_equal(index, expected);
}

static void test_selectors(void **state)
{
    (void)state;
    assert_selects("0", 0);
    assert_selects("5", 5); /* selected by name, even a device that is never a default */
    assert_selects("gpu", 4);
    assert_selects("GPU", 4);
    assert_selects("cpu", 3);
    assert_selects("radiant", 4);
    assert_selects("t 9001", 6);
    assert_selects("ACME", 4);
    assert_selects("pocl", 3);
    assert_selects("without", 5);
    assert_selects("sim", 0);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    int index = -1;
    /* Digits are an index, never a part of a name. */
    assert_fails(clf__choice_select(&index, &list, "9001"), CLF_NO_DEVICE, "\"9001\"");
    assert_fails(clf__choice_select(&index, &list, "8"), CLF_NO_DEVICE, "4 \"Radiant 9000\" (Platform)");
    assert_fails(clf__choice_select(&index, &list, "99999999999999999999"), CLF_NO_DEVICE,
                 "`clformer devices`");
    assert_fails(clf__choice_select(&index, &list, "-1"), CLF_NO_DEVICE, "\"-1\"");
    assert_fails(clf__choice_select(&index, &list, "no such thing"), CLF_NO_DEVICE, "no such thing");
    struct clf_device_list empty = {.silent = ""};
    assert_fails(
        clf__choice_select(&index, &empty, "gpu"), CLF_NO_DEVICE,
        "no OpenCL driver is installed; install the OpenCL driver of your GPU (tools/devices/README.md lists "
        "the packages) or, for the CPU, the Debian package pocl-opencl-icd");
    struct clf_device_list silent = {.platform_count = 1, .silent = "; platform \"P\" has no device"};
    assert_fails(
        clf__choice_select(&index, &silent, "gpu"), CLF_NO_DEVICE,
        "no OpenCL device was found; platform \"P\" has no device; install the OpenCL driver of your GPU");
}

/* Orders hand-made GPUs. */
static void order_gpus(struct clf_device_list *gpus, struct clf__listed_device *made, int count)
{
    for (int i = 0; i < count; i++) {
        made[i].info.index = i;
    }
    *gpus = (struct clf_device_list){.devices = made, .count = count, .platform_count = 1, .silent = ""};
    clf__choice_order(gpus);
}

static struct clf__listed_device make_gpu(const char *name, int gibibytes, int shares_memory, unsigned units,
                                          unsigned lanes, unsigned clock)
{
    struct clf__listed_device device = make(CLF_DEVICE_GPU, name, "Acme", gibibytes);
    device.info.shares_memory = shares_memory;
    device.info.compute_units = units;
    device.info.clock_mhz = clock;
    device.lanes = lanes;
    return device;
}

static void assert_place(const struct clf__listed_device *device, int order, const char *reason)
{
    assert_int_equal(device->info.candidate_order, order);
    assert_string_equal(device->info.order_reason, reason);
}

/* Dedicated memory outweighs its size, units and clock. */
static void test_integrated(void **state)
{
    (void)state;
    struct clf_device_list gpus;
    struct clf__listed_device made[] = {make_gpu("Integrated", 48, 1, 512, 64, 3000),
                                        make_gpu("Discrete", 4, 0, 10, 64, 1000)};
    order_gpus(&gpus, made, 2);
    assert_place(&made[0], 1, "after device 1, which has its own memory");
    assert_place(&made[1], 0, "GPUs come first, before device 0, which shares the processor's memory");
    struct clf__listed_device alone[] = {make_gpu("Integrated", 48, 1, 512, 64, 3000)};
    order_gpus(&gpus, alone, 1);
    assert_place(&alone[0], 0, "GPUs come first");
}

/* Units of unequal width, with clocks; without one of the clocks, only lanes; then memory. */
static void test_arithmetic(void **state)
{
    (void)state;
    struct clf_device_list gpus;
    struct clf__listed_device made[] = {make_gpu("Many narrow", 16, 0, 512, 8, 2000),
                                        make_gpu("Few wide", 16, 0, 60, 128, 1500),
                                        make_gpu("More memory", 24, 0, 60, 128, 1500)};
    order_gpus(&gpus, made, 3);
    assert_place(&made[2], 0, "GPUs come first, before device 1, which has less memory");
    assert_place(&made[1], 1, "after device 2, which has more memory");
    assert_place(
        &made[0], 2,
        "after device 1, which has a peak of 23 TFLOP/s, this one 16.4 (by compute units and clock)");
    struct clf__listed_device unknown[] = {make_gpu("Slow", 16, 0, 40, 64, 100),
                                           make_gpu("Of unknown clock", 16, 0, 30, 64, 0)};
    order_gpus(&gpus, unknown, 2);
    assert_place(&unknown[0], 0, "GPUs come first, before device 1, which has 1920 lanes, this one 2560");
    assert_place(&unknown[1], 1, "after device 0, which has 2560 lanes, this one 1920");
}

/* A log callback that keeps the last message. */
static char notice[512];
static void keep_notice(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_NOTICE) {
        snprintf(notice, sizeof notice, "%s", message);
    }
}

static void assert_takes(const struct clf_device_list *gpus, const char *selector, int expected,
                         const char *told)
{
    int index = -1;
    *notice = '\0';
    clf_log_set(keep_notice, NULL);
    assert_ok(clf__choice_select(&index, gpus, selector));
    clf_log_set(NULL, NULL);
    assert_int_equal(index, expected);
    assert_true(*told != '\0' ? strstr(notice, told) != NULL : *notice == '\0');
}

/* Two equal GPUs, the second of them also under another driver. */
static void test_equal(void **state)
{
    (void)state;
    struct clf_device_list gpus;
    struct clf__listed_device made[] = {make_gpu("Radiant 9000", 16, 0, 60, 64, 2000),
                                        make_gpu("Radiant 9000", 16, 0, 60, 64, 2000),
                                        make_gpu("gfx9000", 16, 0, 60, 64, 2000)};
    made[0].info.pci_address = "0000:03:00.0";
    made[0].info.uuid = "8932f937-d72c-4106-c12f-20bd9faed9f6";
    made[1].info.pci_address = "0000:4b:00.0";
    made[1].info.uuid = "8932f937-0000-4106-c12f-20bd9faed9f6";
    made[2].info.pci_address = "4b:00.0";
    order_gpus(&gpus, made, 3);
    assert_place(&made[0], 0,
                 "GPUs come first, before device 1, which is equal: decided by the order in the list");
    assert_place(&made[2], 2,
                 "after device 1, the same card with another driver, which is equal: decided by the order in "
                 "the list");
    const char *both = "\"radiant\" matches several devices: 0 \"Radiant 9000\" (Platform, PCI "
                       "0000:03:00.0), 1 \"Radiant 9000\" (Platform, PCI 0000:4b:00.0); device 0 is used.";
    assert_takes(&gpus, "radiant", 0, both);
    assert_takes(&gpus, "GPU-8932F937", 0, "matches several");
    assert_takes(&gpus, "gpu", 0, "");
    assert_takes(&gpus, "1", 1, "");
    assert_takes(&gpus, "gfx", 2, "");
    assert_takes(&gpus, "0000:03:00.0", 0, "");
    assert_takes(&gpus, "4B:00.0", 1, "");
    assert_takes(&gpus, "00000000:4b:00.0", 1, "");
    assert_takes(&gpus, "gpu-8932f937-0000", 1, "");
    assert_takes(&gpus, "8932f937-0000-4106-c12f-20bd9faed9f6", 1, "");
    int index = -1;
    assert_fails(clf__choice_select(&index, &gpus, "0001:03:00.0"), CLF_NO_DEVICE,
                 "0 \"Radiant 9000\" (Platform, PCI 0000:03:00.0), 1 ");
    static const char *const wrong[] = {
        "03:00",         "03:00.0 ", "03:00.1",  "GPU-8932f93",
        "8932f937d72c4", ":03:00.0", "0x3:00.0", "8932f937-d72c-4106-c12f-20bd9faed9f6-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(clf__choice_select(&index, &gpus, wrong[i]), CLF_NO_DEVICE, wrong[i]);
    }
    made[0].info.pci_address = made[1].info.pci_address = "";
    assert_takes(&gpus, "radiant", 0, "(Platform, UUID 8932f937-d72c-");
    made[0].info.uuid = made[1].info.uuid = "";
    assert_takes(&gpus, "radiant", 0,
                 "0 \"Radiant 9000\" (Platform), 1 \"Radiant 9000\" (Platform); device 0 is used");
}

static void assert_several(const struct clf_device_list *of, const char *selectors, const char *expected)
{
    int indices[COUNT], count = -1;
    char text[64] = "";
    assert_ok(clf__choice_select_several(indices, &count, of, selectors));
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d", i > 0 ? " " : "", indices[i]);
    }
    assert_string_equal(text, expected);
}

/* In the order of the list; * and all in default order, without those that are never a default. */
static void test_several(void **state)
{
    (void)state;
    assert_several(&list, "3", "3");
    assert_several(&list, "6,0,4", "6 0 4");
    assert_several(&list, " 6 , 4,6", "6 4");
    assert_several(&list, "gpu,cpu", "4 3");
    assert_several(&list, "gpu*", "4 6 2");
    assert_several(&list, "RADIANT*,5", "4 6 5");
    assert_several(&list, "cpu*,6", "3 1 6");
    assert_several(&list, "all", "4 6 3 1 2 0");
    assert_several(&list, "1,All", "1 4 6 3 2 0");
    assert_several(&list, "*", "4 6 3 1 2 0");
    int indices[COUNT], count;
    assert_fails(clf__choice_select_several(indices, &count, &list, "0,,1"), CLF_NO_DEVICE, "an empty item");
    assert_fails(clf__choice_select_several(indices, &count, &list, "0, "), CLF_NO_DEVICE, "an empty item");
    assert_fails(clf__choice_select_several(indices, &count, &list, "0,8"), CLF_NO_DEVICE,
                 "\"8\"; available: ");
    assert_fails(clf__choice_select_several(indices, &count, &list, "0,old*"), CLF_NO_DEVICE, "\"old\"");
    assert_fails(clf__choice_select(&count, &list, "0,1"), CLF_NO_DEVICE,
                 "expected a single OpenCL device instead of the list");
    assert_fails(clf__choice_select(&count, &list, "all"), CLF_NO_DEVICE,
                 "expected a single OpenCL device instead of the list");
    struct clf_device_list empty = {.silent = ""};
    assert_fails(clf__choice_select_several(indices, &count, &empty, "all"), CLF_NO_DEVICE,
                 "pocl-opencl-icd");
}

/* A GPU under two drivers is listed once, under the first driver, unless it is named. */
static void test_several_drivers(void **state)
{
    (void)state;
    struct clf_device_list gpus;
    struct clf__listed_device made[] = {make_gpu("gfx9000", 16, 0, 60, 64, 1900),
                                        make_gpu("Radiant 9000", 16, 0, 60, 64, 2000),
                                        make_gpu("Radiant 9000", 16, 0, 60, 64, 2000)};
    made[0].info.pci_address = "4b:00.0";
    made[1].info.pci_address = "0000:03:00.0";
    made[2].info.pci_address = "0000:4b:00.0";
    order_gpus(&gpus, made, 3);
    assert_several(&gpus, "gpu*", "1 2");
    assert_several(&gpus, "all", "1 2");
    assert_several(&gpus, "0,all", "0 1");
    assert_several(&gpus, "0,1,2", "0 1 2");
}

static void test_contains(void **state)
{
    (void)state;
    assert_true(clf__contains("Portable", "TABLE"));
    assert_true(clf__contains("a", ""));
    assert_true(clf__contains("", ""));
    assert_false(clf__contains("", "a"));
    assert_false(clf__contains("tab", "table"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_order), cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_nothing_fits),  cmocka_unit_test(test_integrated),
        cmocka_unit_test(test_arithmetic),    cmocka_unit_test(test_equal),
        cmocka_unit_test(test_several),       cmocka_unit_test(test_several_drivers),
        cmocka_unit_test(test_contains),
    };
    return cmocka_run_group_tests_name("device/choice", tests, make_list, NULL);
}
