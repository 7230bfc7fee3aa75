/* Consecutive launches set only changed arguments and flush the queue every few launches. The functions below
 * replace functions of the OpenCL loader and count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/opencl/opencl.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/support.h"

static int arguments_set, flushes, marks;
static int fails_once; /* the next argument is rejected */

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    cl_int (*set)(cl_kernel, cl_uint, size_t, const void *);
    *(void **)&set = dlsym(RTLD_NEXT, "clSetKernelArg");
    arguments_set++;
    if (fails_once) {
        fails_once = 0;
        return CL_OUT_OF_RESOURCES;
    }
    return set(kernel, index, size, value);
}

cl_int clFlush(cl_command_queue queue)
{
    cl_int (*flush)(cl_command_queue);
    *(void **)&flush = dlsym(RTLD_NEXT, "clFlush");
    flushes++;
    return flush(queue);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *events,
                                   cl_event *event)
{
    cl_int (*mark)(cl_command_queue, cl_uint, const cl_event *, cl_event *);
    *(void **)&mark = dlsym(RTLD_NEXT, "clEnqueueMarkerWithWaitList");
    marks++;
    return mark(queue, count, events, event);
}

struct pair {
    int32_t first, second;
};

static const char source[] =
    "struct pair { int first, second; };\n"
    "__kernel void fill(__global float *y, int n, float scale, struct pair p, local float *s)\n"
    "{\n"
    "    s[0] = scale * (n + 10 * p.first + 100 * p.second);\n"
    "    y[0] = s[0];\n"
    "}\n";

static struct clf_device *open_device(void)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.variant = CLF_VARIANT_CPU;
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_ok(clf__program_add_source(device, "repeated", source));
    return device;
}

static clf_status fill(struct clf_device *device, const struct clf__buffer *y, int n, float scale,
                       struct pair pair, size_t local)
{
    const struct clf__argument arguments[] = {CLF__BUFFER(y),
                                              CLF__INT(n),
                                              CLF__FLOAT(scale),
                                              CLF__STRUCT(pair),
                                              {.kind = CLF__ARGUMENT_LOCAL, .bytes = local}};
    struct clf__launch launch = {
        .program = "repeated", CLF__ON_BOTH("fill", {1}, {1}), CLF__ARGUMENTS(arguments)};
    arguments_set = 0;
    return clf__launch(device, &launch);
}

static void assert_holds(const struct clf__buffer *y, float expected)
{
    float value = 0.0f;
    assert_ok(clf__buffer_read(y, 0, sizeof value, &value));
    assert_true(value == expected);
}

static void test_arguments_are_set_where_they_changed(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct clf__buffer *y, *other;
    const struct pair pair = {1, 2}, turned = {2, 1};
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
    assert_ok(clf__buffer_create(&other, device, sizeof(float), "another y"));
    assert_ok(fill(device, y, 3, 0.5f, pair, 16));
    assert_int_equal(arguments_set, 5);
    assert_holds(y, 106.5f);
    assert_ok(clf__buffer_fill(y, 0, sizeof(float), -1.0f));
    assert_ok(fill(device, y, 3, 0.5f, pair, 16));
    assert_int_equal(arguments_set, 0);
    assert_holds(y, 106.5f);
    assert_ok(fill(device, y, 4, 0.5f, pair, 16));
    assert_int_equal(arguments_set, 1);
    assert_holds(y, 107.0f);
    assert_ok(fill(device, other, 4, 0.25f, turned, 32));
    assert_int_equal(arguments_set, 4);
    assert_holds(other, 31.0f);
    assert_holds(y, 107.0f);
    clf__buffer_free(other);
    clf__buffer_free(y);
    clf_device_close(device);
}

/* A new buffer is set even if its cl_mem has the address of a freed one. */
static void test_new_buffers_are_set(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    const struct pair pair = {1, 2};
    for (int i = 0; i < 20; i++) {
        struct clf__buffer *y;
        assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
        assert_ok(fill(device, y, i, 1.0f, pair, 16));
        assert_int_equal(arguments_set, i == 0 ? 5 : 2);
        assert_holds(y, (float)(210 + i));
        clf__buffer_free(y);
    }
    clf_device_close(device);
}

static void test_without(void **state)
{
    (void)state;
    setenv("CLFORMER_WITHOUT", "arguments,flush", 1);
    struct clf_device *device = open_device();
    unsetenv("CLFORMER_WITHOUT");
    struct clf__buffer *y;
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
    flushes = 0;
    for (int i = 0; i < 40; i++) {
        assert_ok(fill(device, y, 1, 1.0f, (struct pair){0, 0}, 16));
        assert_int_equal(arguments_set, 5);
    }
    assert_int_equal(flushes, 0);
    clf__buffer_free(y);
    clf_device_close(device);
}

/* An argument that the driver rejected is set again. */
static void test_refused_arguments(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct clf__buffer *y;
    const struct pair pair = {1, 2};
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
    assert_ok(fill(device, y, 3, 0.5f, pair, 16));
    fails_once = 1;
    assert_fails(fill(device, y, 4, 0.5f, pair, 16), CLF_DEVICE, "argument 1 of kernel fill");
    assert_ok(fill(device, y, 3, 0.5f, pair, 16));
    assert_int_equal(arguments_set, 1);
    assert_holds(y, 106.5f);
    clf__buffer_free(y);
    clf_device_close(device);
}

static void test_flushes(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct clf__buffer *y;
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "y"));
    assert_ok(clf__device_finish(device));
    flushes = 0;
    for (int i = 1; i <= 50; i++) {
        assert_ok(fill(device, y, i, 1.0f, (struct pair){0, 0}, 16));
        assert_int_equal(flushes, i / 16);
    }
    assert_holds(y, 50.0f); /* reading waits and flushes, so the count starts again */
    for (int i = 1; i <= 16; i++) {
        assert_ok(fill(device, y, i, 1.0f, (struct pair){0, 0}, 16));
        assert_int_equal(flushes, 3 + i / 16);
    }
    marks = 0;
    assert_ok(clf__device_finish(device)); /* Mesa 22.3 waits for a marker, but not for flushed launches */
    assert_int_equal(marks, 1);
    assert_ok(clf__device_finish(device));
    assert_int_equal(marks, 1);
    clf__buffer_free(y);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_arguments_are_set_where_they_changed, support_teardown),
        cmocka_unit_test_teardown(test_new_buffers_are_set, support_teardown),
        cmocka_unit_test_teardown(test_refused_arguments, support_teardown),
        cmocka_unit_test_teardown(test_flushes, support_teardown),
        cmocka_unit_test_teardown(test_without, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
