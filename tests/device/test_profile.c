/* Kernel profile: launches, operations and bytes are exact; times are only checked to be positive. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "math/gemm/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/testing.h"
#include "runtime/program/launch.h"
#include "support/support.h"

enum { ROWS = 5, OUTPUTS = 33, INPUTS = 17 };

static clf_status open_profiling(struct clf_device **device, clf_variant variant, clf_gemm gemm)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = gemm;
    options.use_program_cache = 0;
    options.profile = 1;
    return clf_device_open(device, NULL, &options);
}

/* The GEMM: y (ROWS, OUTPUTS) = x (ROWS, INPUTS) Wᵀ. */
struct product {
    struct clf__weight *weight;
    struct clf__buffer *x, *y;
};

static clf_status make_product(struct product *product, struct clf_device *device)
{
    static const float values[OUTPUTS * INPUTS];
    const struct clf__weight_part part = {values, OUTPUTS};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = INPUTS, .what = "a test's weight"};
    CLF__TRY(clf__weight_create(&product->weight, device, &source));
    CLF__TRY(clf__buffer_create(&product->x, device, ROWS * INPUTS * sizeof(float), "a test's operand"));
    CLF__TRY(clf__buffer_create(&product->y, device, ROWS * OUTPUTS * sizeof(float), "a test's result"));
    return clf__buffer_fill(product->x, 0, ROWS * INPUTS * sizeof(float), 1.0f);
}

static void free_product(struct product *product)
{
    clf__weight_free(product->weight);
    clf__buffer_free(product->x);
    clf__buffer_free(product->y);
}

static clf_status multiply(const struct product *product)
{
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    return clf__gemm_weight((struct clf__matrix){.buffer = product->y, .stride = OUTPUTS},
                            (struct clf__matrix){.buffer = product->x, .stride = INPUTS}, ROWS,
                            product->weight, &epilogue);
}

/* Returns the kernel with this prefix; fails unless there is exactly one. */
static struct clf_kernel_time find(struct clf_device *device, const char *name)
{
    const struct clf_kernel_time *times = NULL, *found = NULL;
    int count = 0;
    assert_ok(clf_device_profile(&times, &count, device));
    for (int i = 0; i < count; i++) {
        assert_true(times[i].seconds >= 0.0 && times[i].launches > 0);
        assert_true(i == 0 || times[i - 1].seconds >= times[i].seconds);
        if (strncmp(times[i].name, name, strlen(name)) == 0) {
            assert_null(found);
            found = &times[i];
        }
    }
    assert_non_null(found);
    return *found;
}

static void check_product(struct clf_device *device, const char *name)
{
    struct product product = {.weight = NULL};
    assert_ok(make_product(&product, device));
    assert_ok(clf_device_profile_reset(device));
    for (int i = 0; i < 3; i++) {
        assert_ok(multiply(&product));
    }
    struct clf_kernel_time time = find(device, name);
    assert_int_equal(time.launches, 3);
    assert_int_equal(time.precision, CLF_PRECISION_FP32);
    assert_true(time.operations == 3.0 * 2.0 * ROWS * OUTPUTS * INPUTS);
    assert_true(time.bytes == 3.0 * 4.0 * (ROWS * INPUTS + OUTPUTS * INPUTS + ROWS * OUTPUTS));
    free_product(&product);
}

static void products(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = NULL;
        assert_ok(open_profiling(&device, (clf_variant)variant, CLF_GEMM_NATIVE));
        check_product(device, "gemm_weight_");
        clf_device_close(device);
    }
}

static void products_of_clblast(void **state)
{
    (void)state;
    if (support_small()) {
        skip(); /* CLBlast's kernels take minutes there */
    }
    struct clf_device *device = NULL;
    assert_ok(open_profiling(&device, CLF_VARIANT_AUTO, CLF_GEMM_CLBLAST));
    check_product(device, "CLBlastSgemm");
    clf_device_close(device);
}

static void copies(void **state)
{
    (void)state;
    struct clf_device *device = NULL;
    struct clf__buffer *a = NULL, *b = NULL;
    char host[48] = {0};
    assert_ok(open_profiling(&device, CLF_VARIANT_AUTO, CLF_GEMM_AUTO));
    assert_ok(clf__buffer_create(&a, device, sizeof host, "a"));
    assert_ok(clf__buffer_create(&b, device, sizeof host, "b"));
    assert_ok(clf_device_profile_reset(device));
    assert_ok(clf__buffer_write(a, 0, 48, host));
    assert_ok(clf__buffer_write(a, 8, 40, host));
    assert_ok(clf__buffer_fill(b, 0, 16, 1.0f));
    assert_ok(clf__buffer_copy(b, 16, a, 0, 32));
    assert_ok(clf__buffer_read(b, 0, 48, host));
    assert_ok(clf__buffer_read(b, 0, 0, host)); /* an empty read is not a command */
    static const struct {
        const char *name;
        int launches, bytes;
    } expected[] = {{"write", 2, 88}, {"fill", 1, 16}, {"copy", 1, 64}, {"read", 1, 48}};
    for (int i = 0; i < 4; i++) {
        struct clf_kernel_time time = find(device, expected[i].name);
        assert_int_equal(time.launches, expected[i].launches);
        assert_true(time.bytes == expected[i].bytes && time.operations == 0.0);
    }
    clf__buffer_free(a);
    clf__buffer_free(b);
    clf_device_close(device);
}

/* More commands than stored events; the data is still correct. */
static void many_commands(void **state)
{
    (void)state;
    struct clf_device *device = NULL;
    struct clf__buffer *buffer = NULL;
    enum { COMMANDS = 10000 };
    assert_ok(open_profiling(&device, CLF_VARIANT_AUTO, CLF_GEMM_AUTO));
    assert_ok(clf__buffer_create(&buffer, device, sizeof(float), "a number"));
    assert_ok(clf_device_profile_reset(device));
    for (int i = 1; i <= COMMANDS; i++) {
        assert_ok(clf__buffer_fill(buffer, 0, sizeof(float), (float)i));
    }
    float last = 0.0f;
    assert_ok(clf__buffer_read(buffer, 0, sizeof last, &last));
    assert_true(last == COMMANDS);
    assert_int_equal(find(device, "fill").launches, COMMANDS);
    assert_int_equal(find(device, "read").launches, 1);
    clf__buffer_free(buffer);
    clf_device_close(device);
}

static void reset_and_off(void **state)
{
    (void)state;
    const struct clf_kernel_time *times = NULL;
    int count = -1;
    struct clf_device *device = NULL, *other = support_device(CLF_VARIANT_AUTO);
    assert_ok(clf_device_profile(&times, &count, other));
    assert_int_equal(count, 0);
    assert_ok(clf_device_profile_reset(other));
    assert_ok(open_profiling(&device, CLF_VARIANT_AUTO, CLF_GEMM_AUTO));
    assert_ok(clf_device_profile(&times, &count, device));
    assert_int_equal(count, 0); /* the first check is not counted */
    struct product product = {.weight = NULL};
    assert_ok(make_product(&product, device));
    assert_ok(multiply(&product));
    assert_ok(clf_device_profile(&times, &count, device));
    assert_true(count >= 3); /* write, fill, GEMM */
    assert_ok(multiply(&product));
    assert_ok(clf_device_profile_reset(device));
    assert_ok(clf_device_profile(&times, &count, device));
    assert_int_equal(count, 0);
    assert_ok(multiply(&product)); /* still pending when the device is closed */
    free_product(&product);
    clf_device_close(device);
}

static clf_status work(void)
{
    struct clf_device *device = NULL;
    struct product product = {.weight = NULL};
    const struct clf_kernel_time *times = NULL;
    int count = 0;
    CLF__TRY(open_profiling(&device, CLF_VARIANT_AUTO, CLF_GEMM_NATIVE));
    clf_status status = make_product(&product, device);
    status = status == CLF_OK ? multiply(&product) : status;
    status = status == CLF_OK ? clf_device_profile(&times, &count, device) : status;
    status = status == CLF_OK ? clf_device_profile_reset(device) : status;
    free_product(&product);
    clf_device_close(device);
    return status;
}

/* The n-th call fails, for every n: no leak (checked by LeakSanitizer), no crash. */
static void fail_each(void (*fail_at)(uint64_t), uint64_t (*count)(void))
{
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        fail_at(n);
        clf_status status = work();
        uint64_t calls = count();
        fail_at(0);
        if (status != CLF_OK) {
            failures++;
            assert_true(strlen(clf_last_error()) > 0);
        }
        if (calls < n) {
            break;
        }
    }
    assert_true(failures > 10);
}

static void failing_calls(void **state)
{
    (void)state;
    if (support_small()) {
        skip(); /* hundreds of starts */
    }
    fail_each(clf__device_fail_at, clf__device_call_count);
    fail_each(clf__memory_fail_at, clf__memory_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),      cmocka_unit_test(products_of_clblast),
        cmocka_unit_test(copies),        cmocka_unit_test(many_commands),
        cmocka_unit_test(reset_and_off), cmocka_unit_test(failing_calls),
    };
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
