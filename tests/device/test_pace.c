/* Work for a GPU is enqueued in portions: the host waits about once per second of work, and launches of
 * projections and GEMMs cover at most the rows of 0.3 s. The function below replaces a function of the OpenCL
 * loader and counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "math/ops/projection.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"
#include "runtime/opencl/opencl.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/support.h"

static int finishes;

cl_int clFinish(cl_command_queue queue)
{
    cl_int (*finish)(cl_command_queue);
    *(void **)&finish = dlsym(RTLD_NEXT, "clFinish");
    finishes++;
    return finish(queue);
}

static struct clf_device *open_device(clf_variant variant, int is_paced)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.variant = variant;
    options.gemm = CLF_GEMM_NATIVE;
    options.profile = 1;
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_false(device->caps.is_paced); /* processors have no watchdog */
    device->caps.is_paced = is_paced;
    return device;
}

static void launch(struct clf_device *device, double operations)
{
    const struct clf__launch launch = {
        .program = "paced", CLF__ON_BOTH("nothing", {1}, {1}), .cost = {.operations = operations}};
    assert_ok(clf__launch(device, &launch));
}

static void test_waits(void **state)
{
    (void)state;
    for (int is_paced = 0; is_paced < 2; is_paced++) {
        struct clf_device *device = open_device(CLF_VARIANT_CPU, is_paced);
        assert_ok(clf__program_add_source(device, "paced", "__kernel void nothing(void) {}\n"));
        launch(device, 1.0);
        assert_ok(clf__device_finish(device));
        device->pace.rate = 1e12;
        device->pace.operations = 0.0;
        finishes = 0;
        for (int i = 1; i <= 9; i++) {
            launch(device, 0.24e12);
        }
        assert_int_equal(finishes, is_paced); /* the fifth launch reached a second; no kernel took so long */
        assert_true(!is_paced || device->pace.rate > 1e12);
        device->pace.rate = 1e300; /* as if nothing could fill a second */
        for (int i = 0; i < 100; i++) {
            launch(device, 1e12);
        }
        assert_int_equal(finishes, is_paced);
        clf_device_close(device);
    }
}

/* A device that is slower than expected is waited for more often; a slow host does not count. */
static void test_rates(void **state)
{
    (void)state;
    struct clf_device *device = open_device(CLF_VARIANT_CPU, 1);
    assert_true(clf__device_most_operations(device) > 1e9);
    device->pace = (struct clf__pace){.operations = 1e12, .since = clf__seconds() - 10.0, .rate = 1e12};
    clf__device_waited(device);
    assert_true(device->pace.rate > 0.5e12 && device->pace.rate < 0.6e12);
    assert_true(device->pace.operations == 0.0);
    device->pace = (struct clf__pace){.operations = 1e10, .since = clf__seconds() - 10.0, .rate = 1e12};
    clf__device_waited(device);
    assert_true(device->pace.rate == 1e12);
    assert_true(clf__device_most_operations(device) == 0.3 * 1e12);
    device->caps.is_paced = 0;
    assert_true(isinf(clf__device_most_operations(device)));
    clf_device_close(device);
}

enum { ROWS = 50, INPUTS = 16, OUTPUTS = 40, K = 3 };

static void project(struct clf_device *device, float *values)
{
    float weights[OUTPUTS * INPUTS], x[ROWS * INPUTS];
    struct support_random random = {7};
    for (int i = 0; i < OUTPUTS * INPUTS; i++) {
        weights[i] = support_uniform(&random);
    }
    for (int i = 0; i < ROWS * INPUTS; i++) {
        x[i] = support_uniform(&random);
    }
    const struct clf__weight_part part = {weights, OUTPUTS};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = INPUTS, .what = "a test's weight"};
    struct clf__projection projection = {.scale = 1.0f};
    struct clf__weight *weight;
    struct clf__projection_scratch scratch = {.rows = 0};
    struct clf__arena arena;
    static const int32_t none[ROWS + 1];
    assert_ok(clf__weight_create(&weight, device, &source));
    projection.weight = weight;
    clf__arena_init(&arena, device);
    assert_ok(clf__projection_scratch_reserve(&scratch, &arena, &projection, ROWS, K, 0));
    assert_ok(clf__arena_allocate(&arena));
    struct clf__tensor best = support_tensor(device, CLF__F32, ROWS, K, NULL);
    assert_ok(clf__projection_top_k(best, support_tensor(device, CLF__I32, ROWS, K, NULL),
                                    support_tensor(device, CLF__F32, ROWS, 4, NULL),
                                    support_tensor(device, CLF__F32, ROWS, INPUTS, x), &projection,
                                    support_tensor(device, CLF__I32, 1, 1, none),
                                    support_tensor(device, CLF__I32, 1, ROWS + 1, none), 0, &scratch));
    memcpy(values, support_read(best), ROWS * K * sizeof *values);
    clf__arena_free(&arena);
    clf__weight_free(weight);
}

static void test_projection_is_split(void **state)
{
    (void)state;
    float whole[ROWS * K], split[ROWS * K];
    struct clf_device *device = open_device(CLF_VARIANT_GPU, 0);
    project(device, whole);
    int64_t launches = support_launches(device, "top_k_forward_gpu");
    assert_int_equal(launches, 1);
    device->caps.is_paced = 1;
    device->pace.rate = 20.5 * 2 * INPUTS * OUTPUTS / 0.3; /* 20 rows, or 16 in whole groups: 16, 16, 18 */
    assert_ok(clf_device_profile_reset(device));
    project(device, split);
    assert_int_equal(support_launches(device, "top_k_forward_gpu"), 3);
    assert_memory_equal(split, whole, sizeof whole);
    support_free_all();
    clf_device_close(device);
}

enum { MANY_ROWS = 300 };

/* Before the GEMM and before its gradient, the measured rate is `rate`, and no work is enqueued. */
static void multiply(struct clf_device *device, enum clf__precision precision, double rate, float *y)
{
    float weights[OUTPUTS * INPUTS], *x = support_array(MANY_ROWS * INPUTS, sizeof *x);
    struct support_random random = {9};
    for (int i = 0; i < OUTPUTS * INPUTS; i++) {
        weights[i] = support_uniform(&random);
    }
    for (int i = 0; i < MANY_ROWS * INPUTS; i++) {
        x[i] = support_uniform(&random);
    }
    const struct clf__weight_part part = {weights, OUTPUTS};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = INPUTS, .precision = precision, .what = "a test's weight"};
    struct clf__weight *weight;
    struct clf__tensor in = support_tensor(device, CLF__F32, MANY_ROWS, INPUTS, x),
                       out = support_tensor(device, CLF__F32, MANY_ROWS, OUTPUTS, NULL),
                       added = support_tensor(device, CLF__F32, MANY_ROWS, OUTPUTS,
                                              support_array(MANY_ROWS * OUTPUTS, 4));
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.residual = (struct clf__matrix){.buffer = added.buffer, .stride = OUTPUTS};
    assert_ok(clf__weight_create(&weight, device, &source));
    device->pace = (struct clf__pace){.rate = rate};
    assert_ok(clf__gemm_weight((struct clf__matrix){.buffer = out.buffer, .stride = OUTPUTS},
                               (struct clf__matrix){.buffer = in.buffer, .stride = INPUTS}, MANY_ROWS, weight,
                               &epilogue));
    memcpy(y, support_read(out), MANY_ROWS * OUTPUTS * sizeof *y);
    if (precision == CLF__PRECISION_FP32) { /* the gradient of y overwrites x */
        struct clf__matrix dx = {.buffer = in.buffer, .stride = INPUTS};
        device->pace = (struct clf__pace){.rate = rate};
        assert_ok(clf__gemm_input_gradient(dx, (struct clf__matrix){.buffer = out.buffer, .stride = OUTPUTS},
                                           MANY_ROWS, weight, 0.5f, dx));
        memcpy(y, support_read(in), MANY_ROWS * INPUTS * sizeof *y);
    }
    clf__weight_free(weight);
}

/* With few operations per launch, a GEMM and its gradient take several launches, and their bits stay the
 * same. */
static void test_gemm_is_split(void **state)
{
    (void)state;
    /* 128 rows at a time; 32 and 5, until a second of work is enqueued, when the rate is measured. */
    static const double rows[] = {130.0, 40.0, 5.0};
    static const int least[] = {3, 5, 5};
    static float whole[MANY_ROWS * OUTPUTS], split[MANY_ROWS * OUTPUTS];
    for (int precision = CLF__PRECISION_FP32; precision <= CLF__PRECISION_INT8; precision += 3) {
        struct clf_device *device = open_device(CLF_VARIANT_GPU, 0);
        multiply(device, (enum clf__precision)precision, 0.0, whole);
        int64_t once = support_launches(device, NULL);
        for (int i = 0; i < 3; i++) {
            device->caps.is_paced = 1;
            double rate = (rows[i] + 0.5) * 2 * INPUTS * OUTPUTS / 0.3;
            assert_ok(clf_device_profile_reset(device));
            multiply(device, (enum clf__precision)precision, rate, split);
            int64_t launches =
                support_launches(device, NULL) - once + (precision == CLF__PRECISION_FP32 ? 2 : 1);
            assert_in_range(launches, least[i], 2 * MANY_ROWS); /* int8 also converts x */
            assert_true(i > 0 || precision != CLF__PRECISION_FP32 || launches == 2 * least[i]);
            assert_memory_equal(split, whole, sizeof whole);
        }
        support_free_all();
        clf_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_waits, support_teardown),
        cmocka_unit_test_teardown(test_rates, support_teardown),
        cmocka_unit_test_teardown(test_projection_is_split, support_teardown),
        cmocka_unit_test_teardown(test_gemm_is_split, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
