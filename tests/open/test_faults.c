/* The n-th OpenCL call and the n-th allocation fail, for every n: an error or the right result, and no leak
 * (checked by LeakSanitizer). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

static const char source[] = "__kernel void twice(__global float *y, const __global float *x, int n)\n"
                             "{\n"
                             "    for (int i = 0; i < n; i++) y[i] = 2.0f * x[i];\n"
                             "}\n";

static clf_status compute(struct clf_device *device, struct clf__buffer **buffers, float *values)
{
    for (int i = 0; i < 3; i++) {
        CLF__TRY(clf__buffer_create(&buffers[i], device, 2 * sizeof(float), "a test's numbers"));
    }
    struct clf__argument arguments[] = {CLF__BUFFER(buffers[1]), CLF__BUFFER(buffers[0]), CLF__INT(2)};
    struct clf__launch launch = {
        .program = "twice", CLF__ON_BOTH("twice", {1}, {1}), .arguments = arguments, .argument_count = 3};
    CLF__TRY(clf__program_add_source(device, "twice", source));
    CLF__TRY(clf__buffer_write(buffers[0], 0, sizeof(float), values));
    CLF__TRY(clf__buffer_fill(buffers[0], sizeof(float), sizeof(float), 4.0f));
    CLF__TRY(clf__launch(device, &launch));
    CLF__TRY(clf__buffer_copy(buffers[2], 0, buffers[1], 0, 2 * sizeof(float)));
    CLF__TRY(clf__device_finish(device));
    return clf__buffer_read(buffers[2], 0, 2 * sizeof(float), values);
}

enum cache { WITHOUT, COLD, WARM };

/* Opens a device, runs one kernel, closes it. */
static clf_status work(float *values, enum cache cache)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = cache != WITHOUT;
    CLF__TRY(clf_device_open(&device, NULL, &options));
    struct clf__buffer *buffers[3] = {NULL};
    clf_status status = compute(device, buffers, values);
    for (int i = 0; i < 3; i++) {
        clf__buffer_free(buffers[i]);
    }
    clf_device_close(device);
    return status;
}

static void fail_each(void (*fail_at)(uint64_t), uint64_t (*count)(void), enum cache cache)
{
    int failures = 0, n = 1;
    char folder[128];
    const char *parent = support_temporary_folder();
    for (;; n++) {
        float values[2] = {3.0f, 0.0f};
        snprintf(folder, sizeof folder, "%s/%d", parent, cache == COLD ? n : 0);
        set_cache_home(folder);
        fail_at((uint64_t)n);
        clf_status status = work(values, cache);
        uint64_t calls = count();
        fail_at(0);
        if (status == CLF_OK) { /* the cache is optional */
            assert_true(values[0] == 6.0f && values[1] == 8.0f);
        } else {
            failures++;
            assert_true(strlen(clf_last_error()) > 10);
        }
        if (calls < (uint64_t)n) {
            assert_ok(status);
            break;
        }
    }
    assert_true(failures > 25);
    assert_true(n > failures);
}

static void test_opencl_calls(void **state)
{
    (void)state;
    for (enum cache cache = WITHOUT; cache <= WARM; cache++) {
        fail_each(clf__device_fail_at, clf__device_call_count, cache);
    }
}

static void test_allocations(void **state)
{
    (void)state;
    for (enum cache cache = WITHOUT; cache <= WARM; cache++) {
        fail_each(clf__memory_fail_at, clf__memory_count, cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_opencl_calls),
                                       cmocka_unit_test(test_allocations)};
    return cmocka_run_group_tests_name("device/faults", tests, NULL, NULL);
}
