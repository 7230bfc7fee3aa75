/* Non-blocking reads: their bytes, waiting for a read but not for later commands, and failures. */
#include "runtime/device/readback.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/dry_run.h"
#include "runtime/device/queue.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"

enum { COUNT = 1000, BYTES = COUNT * sizeof(int32_t), MOST_SECONDS = 60 };

static struct clf__buffer *make_buffer(struct clf_device *device, int32_t *values)
{
    struct clf__buffer *buffer;
    for (int i = 0; i < COUNT; i++) {
        values[i] = 7 * i;
    }
    assert_ok(clf__buffer_create(&buffer, device, BYTES, "numbers"));
    assert_ok(clf__buffer_write(buffer, 0, BYTES, values));
    return buffer;
}

/* Two reads of a buffer that is overwritten after each. */
static void test_reads(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf__readback *first, *second;
    int32_t values[COUNT];
    const void *host;
    struct clf__buffer *buffer = make_buffer(device, values);
    assert_ok(clf__readback_create(&first, device, BYTES, "numbers"));
    assert_ok(clf__readback_create(&second, device, BYTES, "numbers"));
    for (int round = 0; round < 3; round++) {
        assert_ok(clf__readback_start(first, buffer, 0, BYTES));
        assert_ok(clf__buffer_fill(buffer, 0, BYTES, 1.0f));
        assert_ok(clf__readback_start(second, buffer, 40, 80));
        assert_ok(clf__buffer_write_later(buffer, 0, BYTES, values));
        assert_ok(clf__readback_wait(&host, first));
        assert_memory_equal(host, values, BYTES);
        assert_ok(clf__readback_wait(&host, second));
        for (int i = 0; i < 20; i++) {
            assert_true(((const float *)host)[i] == 1.0f);
        }
    }
    assert_ok(clf__readback_wait(&host, first)); /* no read is in progress */
    assert_ok(clf__readback_start(first, buffer, 0, 0));
    assert_ok(clf__readback_wait(&host, first));
    assert_ok(clf__readback_start(first, buffer, 0, BYTES));
    assert_ok(clf__device_finish(device));
    clf__readback_forget(first);
    assert_ok(clf__readback_start(first, buffer, 4, 8));
    clf__readback_free(first); /* waits */
    clf__readback_free(second);
    clf__readback_free(NULL);
    clf__buffer_free(buffer);
}

/* A command that is enqueued after a read, and cannot begin, does not delay it. */
static void test_later_commands(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf__readback *readback;
    int32_t values[COUNT];
    const void *host;
    cl_int error;
    struct clf__buffer *buffer = make_buffer(device, values);
    cl_event gate = clCreateUserEvent(device->context, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(clf__readback_create(&readback, device, BYTES, "numbers"));
    assert_ok(clf__readback_start(readback, buffer, 0, BYTES));
    assert_int_equal(clEnqueueMarkerWithWaitList(device->queue, 1, &gate, NULL), CL_SUCCESS);
    alarm(MOST_SECONDS); /* a wait for the marker would not end */
    assert_ok(clf__readback_wait(&host, readback));
    alarm(0);
    assert_memory_equal(host, values, BYTES);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gate);
    assert_ok(clf__device_finish(device));
    clf__readback_free(readback);
    clf__buffer_free(buffer);
}

/* Work before the read counts as finished, later work does not. */
static void test_pace(void **state)
{
    (void)state;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, NULL));
    device->caps.is_paced = 1;
    device->pace = (struct clf__pace){.since = clf__seconds() - 10.0, .rate = 1e12};
    device->pace.operations = device->pace.total = 6e11;
    double mark = clf__device_mark(device);
    assert_ok(clf__device_launched(device, 1e11));
    clf__device_reached(device, mark);
    assert_true(device->pace.operations == 1e11);
    assert_true(device->pace.rate > 0.5e12 && device->pace.rate < 0.6e12); /* 6e11 in ten seconds */
    assert_true(clf__seconds() - device->pace.since < 5.0);
    clf__device_waited(device);
    assert_true(device->pace.operations == 0.0);
    assert_ok(clf__device_launched(device, 1e11));
    clf__device_reached(device, mark); /* before the last wait */
    assert_true(device->pace.operations == 1e11);
    clf_device_close(device);
}

static clf_status read_once(struct clf_device *device, const struct clf__buffer *buffer)
{
    struct clf__readback *readback;
    const void *host;
    CLF__TRY(clf__readback_create(&readback, device, BYTES, "numbers"));
    clf_status status = clf__readback_start(readback, buffer, 0, BYTES);
    if (status == CLF_OK) {
        status = clf__readback_wait(&host, readback);
    }
    clf__readback_free(readback);
    return status;
}

static void test_failures(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    int32_t values[COUNT];
    struct clf__buffer *buffer = make_buffer(device, values);
    static const char *const parts[] = {"allocating 4000 bytes of host memory for numbers",
                                        "mapping 4000 bytes of host memory for numbers",
                                        "cannot read 4000 bytes", "submitting work", "waiting for numbers"};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (int i = 0; i < PARTS; i++) {
        clf__device_fail_at((uint64_t)i + 1);
        assert_fails(read_once(device, buffer), CLF_DEVICE, parts[i]);
        clf__device_fail_at(0);
    }
    assert_ok(read_once(device, buffer));
    clf__buffer_free(buffer);
}

static void test_dry_run(void **state)
{
    (void)state;
    struct clf_device *device;
    struct clf__dry_run dry_run;
    struct clf__readback *readback;
    struct clf__buffer *buffer;
    const void *host;
    assert_ok(clf_device_open(&device, NULL, NULL));
    clf__dry_run_begin(&dry_run, device);
    assert_ok(clf__buffer_create(&buffer, device, BYTES, "numbers"));
    assert_ok(clf__readback_create(&readback, device, BYTES, "numbers"));
    assert_ok(clf__readback_start(readback, buffer, 0, BYTES));
    assert_ok(clf__readback_wait(&host, readback));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(((const int32_t *)host)[i], 0);
    }
    clf__readback_free(readback);
    clf__buffer_free(buffer);
    assert_int_equal(clf__dry_run_end(&dry_run), BYTES);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_reads, support_teardown),
        cmocka_unit_test_teardown(test_later_commands, support_teardown),
        cmocka_unit_test_teardown(test_pace, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
        cmocka_unit_test_teardown(test_dry_run, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
