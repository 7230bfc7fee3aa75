/* Buffers that share a slab on a CPU: separate memory, the slab is freed with the last one, whatever
 * fails. */
#include <string.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"

/* Too small to share, three that share, and one that is too large to share. */
static const size_t sizes[] = {100, 70000, 1 << 20, 65536, 9 << 20};
enum { BUFFERS = sizeof sizes / sizeof *sizes };

static struct clf_device *open_device(void)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

/* GPUs have no slabs, or put small buffers in them as well. */
static void skip_without_slabs(void)
{
    const struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    if (device->info->kind != CLF_DEVICE_CPU || clf__caps_have_matrix(&device->caps)) {
        skip();
    }
}

static clf_status create_all(struct clf__buffer **buffers, struct clf_device *device)
{
    for (int i = 0; i < BUFFERS; i++) {
        CLF__TRY(clf__buffer_create_streamed(&buffers[i], device, sizes[i], "a test's weights"));
    }
    return CLF_OK;
}

static void free_all(struct clf__buffer **buffers)
{
    for (int i = 0; i < BUFFERS; i++) {
        clf__buffer_free(buffers[i]);
        buffers[i] = NULL;
    }
}

/* Every buffer keeps its own bytes from the first to the last. */
static void test_no_overlap(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    uint64_t memory = clf__device_free_bytes(device);
    struct clf__buffer *buffers[BUFFERS] = {NULL};
    assert_ok(create_all(buffers, device));
    uint8_t *bytes = support_array(sizes[BUFFERS - 1], 1);
    for (int i = 0; i < BUFFERS; i++) {
        assert_int_equal(clf__buffer_bytes(buffers[i]), sizes[i]);
        memset(bytes, i + 1, sizes[i]);
        assert_ok(clf__buffer_write(buffers[i], 0, sizes[i], bytes));
    }
    for (int i = 0; i < BUFFERS; i++) {
        assert_ok(clf__buffer_read(buffers[i], 0, sizes[i], bytes));
        size_t equal = 0;
        while (equal < sizes[i] && bytes[equal] == i + 1) {
            equal++;
        }
        assert_int_equal(equal, sizes[i]);
    }
    assert_true(clf__device_free_bytes(device) < memory);
    free_all(buffers);
    assert_true(clf__device_free_bytes(device) == memory);
    clf_device_close(device);
}

/* A new slab is allocated when the last one is full; contents stay, and each slab is freed with its last
 * buffer. */
static void test_many(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    uint64_t memory = clf__device_free_bytes(device);
    enum { COUNT = 12, BYTES = 8 << 20 };
    struct clf__buffer *buffers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_ok(clf__buffer_create_streamed(&buffers[i], device, BYTES, "a test's weights"));
        assert_ok(clf__buffer_fill(buffers[i], BYTES - 4, 4, (float)i));
    }
    for (int i = 0; i < COUNT; i++) {
        float value = -1.0f;
        int at = i * 5 % COUNT; /* neither first in, first out, nor the reverse */
        assert_ok(clf__buffer_read(buffers[at], BYTES - 4, 4, &value));
        assert_true(value == (float)at);
        clf__buffer_free(buffers[at]);
    }
    assert_true(clf__device_free_bytes(device) == memory);
    clf_device_close(device);
}

/* Makes each call fail in turn, each on a new device, and returns the number of fatal failures. */
static int fail_each(void (*fail_at)(uint64_t), uint64_t (*count)(void))
{
    int failures = 0;
    uint64_t calls = 0; /* first counted without failures */
    for (uint64_t n = 0; n <= calls; n++) {
        struct clf_device *device = open_device();
        uint64_t memory = clf__device_free_bytes(device);
        struct clf__buffer *buffers[BUFFERS] = {NULL};
        fail_at(n);
        clf_status status = create_all(buffers, device);
        calls = n == 0 ? count() : calls;
        fail_at(0);
        failures += status != CLF_OK;
        free_all(buffers);
        assert_true(clf__device_free_bytes(device) == memory);
        clf_device_close(device);
    }
    return failures;
}

/* Only the calls of the first and the last buffer are essential; if a slab cannot be created, split or
 * mapped, its buffers are separate. */
static void test_failures(void **state)
{
    (void)state;
    skip_without_slabs();
    assert_int_equal(fail_each(clf__device_fail_at, clf__device_call_count), 2);
    assert_true(fail_each(clf__memory_fail_at, clf__memory_count) >= BUFFERS);
}

/* After one failure, buffers that would have shared are separate, then and later. */
static void test_no_slab(void **state)
{
    (void)state;
    skip_without_slabs();
    struct clf_device *device = open_device();
    uint64_t memory = clf__device_free_bytes(device), bytes = 0;
    struct clf__buffer *buffers[BUFFERS] = {NULL};
    assert_ok(clf__buffer_create_streamed(&buffers[0], device, sizes[0], "a test's weights"));
    clf__device_fail_at(1);
    for (int i = 1; i < BUFFERS; i++) {
        assert_ok(clf__buffer_create_streamed(&buffers[i], device, sizes[i], "a test's weights"));
        clf__device_fail_at(0);
    }
    for (int i = 0; i < BUFFERS; i++) {
        float value = -1.0f;
        assert_ok(clf__buffer_fill(buffers[i], sizes[i] / 4 * 4 - 4, 4, (float)i));
        assert_ok(clf__buffer_read(buffers[i], sizes[i] / 4 * 4 - 4, 4, &value));
        assert_true(value == (float)i);
        bytes += sizes[i];
    }
    assert_true(clf__device_free_bytes(device) == memory - bytes);
    free_all(buffers);
    assert_true(clf__device_free_bytes(device) == memory);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_overlap), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_no_slab)};
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
