/* The measured peaks are positive and finite, and measuring has no side effects. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"

static struct clf_device *open_variant(clf_variant variant)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.use_program_cache = 0;
    options.profile = 1;
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

static void peaks(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = open_variant((clf_variant)variant);
        uint64_t memory = clf__device_free_bytes(device);
        const struct clf_device_peaks *peaks;
        assert_ok(clf_device_measure_peaks(&peaks, device));
        print_message("%s variant: %.3g fma, %.3g int8, %.3g bf16 operations/s, %.3g bytes/s\n",
                      variant == CLF_VARIANT_GPU ? "GPU" : "CPU", peaks->fma_operations,
                      peaks->int8_operations, peaks->bf16_operations, peaks->read_bytes);
        assert_true(peaks->fma_operations > 0.0 && isfinite(peaks->fma_operations));
        assert_true(peaks->read_bytes > 0.0 && isfinite(peaks->read_bytes));
        assert_true(peaks->int8_operations >= 0.0 && isfinite(peaks->int8_operations));
        assert_true(peaks->bf16_operations >= 0.0 && isfinite(peaks->bf16_operations));
        assert_true(peaks->fp16_operations == 0.0); /* PoCL has no matrix instructions */
        assert_true(clf__device_free_bytes(device) == memory);
        const struct clf_kernel_time *times = NULL;
        int count = -1;
        assert_ok(clf_device_profile(&times, &count, device));
        assert_int_equal(count, 0);
        clf_device_close(device);
    }
}

/* On most devices, matrix instructions are emulated. */
static void matrix(void **state)
{
    (void)state;
    const struct clf_device_peaks *peaks;
    assert_ok(clf_device_measure_peaks(&peaks, support_matrix_device()));
    print_message("matrix instructions: %.3g fp16, %.3g bf16, %.3g int8 operations/s\n",
                  peaks->fp16_operations, peaks->bf16_operations, peaks->int8_operations);
    assert_true(peaks->fp16_operations > 0.0 && isfinite(peaks->fp16_operations));
    assert_true(peaks->bf16_operations > 0.0 && isfinite(peaks->bf16_operations));
    assert_true(peaks->int8_operations > 0.0 && isfinite(peaks->int8_operations));
}

/* Each of the first calls fails in turn: no leak, and the device still profiles. All failures but one are
 * fatal: a buffer that cannot be mapped for large pages is used as it is. */
static void failures(void **state)
{
    (void)state;
    struct clf_device *device = open_variant(CLF_VARIANT_AUTO);
    uint64_t memory = clf__device_free_bytes(device);
    int failures = 0;
    for (uint64_t n = 1; n <= 12; n++) {
        const struct clf_device_peaks *peaks;
        clf__device_fail_at(n);
        clf_status status = clf_device_measure_peaks(&peaks, device);
        clf__device_fail_at(0);
        failures += status != CLF_OK;
        assert_true(status == CLF_OK || strlen(clf_last_error()) > 0);
        assert_true(clf__device_free_bytes(device) == memory);
    }
    assert_in_range(failures, 11, 12);
    struct clf__buffer *buffer = NULL;
    const struct clf_kernel_time *times = NULL;
    int count = 0;
    assert_ok(clf__buffer_create(&buffer, device, 4, "a number"));
    assert_ok(clf__buffer_fill(buffer, 0, 4, 0.0f));
    assert_ok(clf_device_profile(&times, &count, device));
    assert_int_equal(count, 1);
    clf__buffer_free(buffer);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(peaks), cmocka_unit_test(matrix),
                                       cmocka_unit_test(failures)};
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
