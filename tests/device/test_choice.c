/* The default order and the selectors, over lists made by hand. */
#include <string.h>

#include "device/choice.h"
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
    assert_selects("5", 5); /* asked for by name, even what is never a default */
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
    /* Digits alone are an index, never a part of a name. */
    assert_fails(clf__choice_select(&index, &list, "9001"), CLF_NO_DEVICE, "\"9001\"");
    assert_fails(clf__choice_select(&index, &list, "8"), CLF_NO_DEVICE, "4 \"Radiant 9000\" (Platform)");
    assert_fails(clf__choice_select(&index, &list, "99999999999999999999"), CLF_NO_DEVICE,
                 "`clformer devices`");
    assert_fails(clf__choice_select(&index, &list, "-1"), CLF_NO_DEVICE, "\"-1\"");
    assert_fails(clf__choice_select(&index, &list, "no such thing"), CLF_NO_DEVICE, "no such thing");
    struct clf_device_list empty = {.silent = ""};
    assert_fails(clf__choice_select(&index, &empty, "gpu"), CLF_NO_DEVICE, "pocl-opencl-icd");
    struct clf_device_list silent = {.platform_count = 1, .silent = "; platform \"P\" has no device"};
    assert_fails(clf__choice_select(&index, &silent, "gpu"), CLF_NO_DEVICE, "\"P\" has no device");
}

static void test_contains(void **state)
{
    (void)state;
    assert_true(clf__contains("Portable", "TABLE"));
    assert_true(clf__contains("a", ""));
    assert_true(clf__contains("", ""));
    assert_false(clf__contains("", "a"));
    assert_false(clf__contains("tab", "table"));
    assert_true(clf__equals("GPU", "gpu"));
    assert_false(clf__equals("gpu", "gp"));
    assert_false(clf__equals("gp", "gpu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_order),
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_contains),
    };
    return cmocka_run_group_tests_name("device/choice", tests, make_list, NULL);
}
