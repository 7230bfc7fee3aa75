/* A driver reports impossible profiling times: the profile omits them and logs one warning. The function
 * below replaces a function of the OpenCL loader and changes the driver's answers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/profile.h"
#include "support/support.h"

enum mode {
    HONEST,
    CONSTANT,
    BACKWARDS,
    NEVER_STARTED,
    MICROSECONDS_AS_NANOSECONDS,
    SLOW_CLOCK,
    MISSING,
    MODES
};
static enum mode mode;
static int odd_events; /* number of following events with wrong times */
static cl_event odd;

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_event, cl_profiling_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetEventProfilingInfo");
    int is_start = what == CL_PROFILING_COMMAND_START;
    if (is_start) { /* queried first */
        odd = odd_events > 0 ? event : NULL;
        odd_events -= odd_events > 0;
    }
    cl_int error = ask(event, what, size, out, told);
    cl_ulong *time = out;
    if (event != odd || error != CL_SUCCESS) {
        return error;
    }
    switch (mode) {
    case CONSTANT: /* like rusticl of Mesa 22.3 */
        *time = is_start ? 2 : 3;
        break;
    case BACKWARDS:
        *time -= is_start ? 0 : (cl_ulong)1000 * 1000 * 1000;
        break;
    case NEVER_STARTED:
        *time = is_start ? 0 : *time;
        break;
    case MICROSECONDS_AS_NANOSECONDS:
        *time += is_start ? 0 : (cl_ulong)1000 * 1000 * 1000;
        break;
    case MISSING:
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    case HONEST:
    case SLOW_CLOCK: /* ticks once a second: more work than any device can do takes no time */
    case MODES:
        break;
    }
    return CL_SUCCESS;
}

static int warnings;
static char warning[512];
static void count_warnings(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        warnings++;
        snprintf(warning, sizeof warning, "%s", message);
    }
}

static struct clf_device *open_profiling(void)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.profile = 1;
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_ok(clf_device_profile_reset(device));
    return device;
}

/* Enqueues a driver command with a declared cost. */
static void fill(struct clf_device *device, struct clf__buffer *buffer, double operations)
{
    const float value = 1.0f;
    cl_event event = NULL;
    assert_int_equal(clEnqueueFillBuffer(device->queue, buffer->memory, &value, sizeof value, 0,
                                         buffer->bytes, 0, NULL, clf__profile_slot(device->profile, &event)),
                     CL_SUCCESS);
    assert_ok(clf__profile_add(device, "fill", (struct clf__cost){.operations = operations, .bytes = 100},
                               NULL, event));
}

static void test_odd_times_are_left_out(void **state)
{
    (void)state;
    for (mode = HONEST; mode < MODES; mode++) {
        struct clf_device *device = open_profiling();
        struct clf__buffer *buffer;
        const struct clf_kernel_time *times;
        int count, is_honest = mode == HONEST;
        assert_ok(clf__buffer_create(&buffer, device, 4096, "a buffer"));
        warnings = 0;
        clf_log_set(count_warnings, NULL);
        odd_events = 2;
        for (int i = 0; i < 5; i++) {
            fill(device, buffer, mode == SLOW_CLOCK && i < 2 ? 1e30 : 3.0);
        }
        assert_ok(clf_device_profile(&times, &count, device));
        assert_int_equal(count, 1);
        assert_int_equal(times[0].launches, 5);
        assert_int_equal(times[0].discarded, is_honest ? 0 : 2);
        assert_true(times[0].bytes == 500.0);
        assert_true(times[0].seconds >= 0.0 && times[0].seconds < 0.5);
        assert_int_equal(warnings, !is_honest);
        assert_true(is_honest || strstr(warning, "impossible times, for example for kernel fill") != NULL);
        clf_log_set(NULL, NULL);
        clf__buffer_free(buffer);
        clf_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_odd_times_are_left_out, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
