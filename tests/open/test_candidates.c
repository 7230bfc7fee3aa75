/* A device that fails to open: if it was selected, the error names the next candidate; the default falls back
 * to it with a warning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/log.h>

#include "runtime/opencl/testing.h"
#include "support/support.h"

static char warning[1024];

static void keep_warning(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        snprintf(warning, sizeof warning, "%s", message);
    }
}

/* The indices of the first two candidates, and the number of calls for listing. */
struct candidates {
    int first, second;
    uint64_t listing;
};

static struct candidates list(void)
{
    struct clf_device_list *list;
    struct candidates candidates = {-1, -1, 0};
    clf__device_fail_at(0);
    assert_ok(clf_device_list_create(&list));
    candidates.listing = clf__device_call_count();
    for (int i = 0; i < clf_device_list_count(list); i++) {
        int order = clf_device_list_at(list, i)->candidate_order;
        candidates.first = order == 0 ? i : candidates.first;
        candidates.second = order == 1 ? i : candidates.second;
    }
    clf_device_list_free(list);
    if (candidates.second < 0) {
        skip(); /* one device alone */
    }
    return candidates;
}

static clf_status open_failing(struct clf_device **out, const char *selector, uint64_t n)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    clf__device_fail_at(n);
    clf_status status = clf_device_open(out, selector, &options);
    clf__device_fail_at(0);
    return status;
}

/* Counts the calls to open the selected device. */
static uint64_t count_calls(const char *selector)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    clf__device_fail_at(0);
    assert_ok(clf_device_open(&device, selector, &options));
    uint64_t calls = clf__device_call_count();
    clf_device_close(device);
    return calls;
}

static void test_selected_device_names_the_next(void **state)
{
    (void)state;
    struct candidates candidates = list();
    for (int turn = 0; turn < 2; turn++) {
        char selector[16], next[64];
        snprintf(selector, sizeof selector, "%d", turn ? candidates.second : candidates.first);
        snprintf(next, sizeof next, "the next candidate is device %d \"",
                 turn ? candidates.first : candidates.second);
        uint64_t calls = count_calls(selector);
        assert_true(calls > candidates.listing + 5);
        for (uint64_t n = candidates.listing + 1; n <= calls; n++) {
            struct clf_device *device;
            clf_status status = open_failing(&device, selector, n);
            assert_true(status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD);
            assert_non_null(strstr(clf_last_error(), next));
        }
    }
}

static void test_default_passes_on(void **state)
{
    (void)state;
    struct candidates candidates = list();
    uint64_t calls = count_calls(NULL);
    clf_log_set(keep_warning, NULL);
    for (uint64_t n = candidates.listing + 1; n <= calls; n++) {
        struct clf_device *device;
        char passed[64];
        snprintf(passed, sizeof passed, "device %d: skipped: ", candidates.first);
        warning[0] = '\0';
        assert_ok(open_failing(&device, NULL, n));
        assert_int_equal(clf_device_describe(device)->index, candidates.second);
        assert_non_null(strstr(warning, passed));
        clf_device_close(device);
    }
    clf_log_set(NULL, NULL);
}

/* Failing devices are left out with a warning; if all fail, the call fails. */
static void test_several(void **state)
{
    (void)state;
    struct candidates candidates = list();
    struct clf_device **devices;
    int count;
    assert_ok(clf_devices_open(&devices, &count, "all", NULL));
    assert_true(count >= 2);
    assert_int_equal(clf_device_describe(devices[0])->index, candidates.first);
    assert_int_equal(clf_device_describe(devices[1])->index, candidates.second);
    clf_devices_close(devices, count);
    char both[32], one[32], out[32];
    snprintf(both, sizeof both, "%d,%d", candidates.first, candidates.second);
    snprintf(one, sizeof one, "%d,%d", candidates.second, candidates.second);
    snprintf(out, sizeof out, "device %d: skipped: ", candidates.first);
    clf_log_set(keep_warning, NULL);
    clf__device_fail_at(2 * candidates.listing + 1); /* after the list of all, the first device's own */
    assert_ok(clf_devices_open(&devices, &count, both, NULL));
    clf__device_fail_at(0);
    clf_log_set(NULL, NULL);
    assert_int_equal(count, 1);
    assert_int_equal(clf_device_describe(devices[0])->index, candidates.second);
    assert_non_null(strstr(warning, out));
    clf_devices_close(devices, count);
    clf__device_fail_at(2 * candidates.listing + 1);
    assert_fails(clf_devices_open(&devices, &count, one, NULL), CLF_DEVICE, "CL_OUT_OF_HOST_MEMORY");
    clf__device_fail_at(0);
    assert_null(devices);
    assert_int_equal(count, 0);
    assert_fails(clf_devices_open(&devices, &count, "0,no such device", NULL), CLF_NO_DEVICE,
                 "no such device");
    assert_ok(clf_devices_open(&devices, &count, NULL, NULL));
    assert_int_equal(count, 1);
    assert_int_equal(clf_device_describe(devices[0])->index, candidates.first);
    clf_devices_close(devices, count);
}

/* A driver that fails while it is queried. */
static void test_broken_platform_is_named(void **state)
{
    (void)state;
    clf__device_fail_at(0);
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    uint64_t calls = clf__device_call_count(), named = 0;
    clf_device_list_free(list);
    for (uint64_t n = 1; n <= calls; n++) {
        struct clf_device *device = NULL;
        clf_status status = open_failing(&device, "no such device", n);
        assert_true(status == CLF_NO_DEVICE || status == CLF_DEVICE);
        named += strstr(clf_last_error(), "CL_OUT_OF_HOST_MEMORY") != NULL;
    }
    assert_true(named > calls * 3 / 4); /* the list of compiler versions is optional */
}

int main(void)
{
    /* PoCL shows its CPU twice, so that there is a second device; other drivers ignore this. */
    setenv("POCL_DEVICES", "basic pthread", 1);
    unsetenv("CLFORMER_DEVICE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_selected_device_names_the_next, support_teardown),
        cmocka_unit_test_teardown(test_default_passes_on, support_teardown),
        cmocka_unit_test_teardown(test_several, support_teardown),
        cmocka_unit_test_teardown(test_broken_platform_is_named, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
