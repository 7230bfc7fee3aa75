/* Native gradients of GEMM with weights: cl/gemm/gemm_input_gradient.cl and cl/gemm/gemm_weight_gradient.cl
 * in both variants. */
#include "base/memory.h"
#include "gemm/check_gradient.h"
#include "math/gemm/backend.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"

/* In addition to the common cases: several slices of rows or of outputs, several copies of such a wide
 * operand. */
static const struct gemm_case deep_cases[] = {{641, 40, 31}, {385, 300, 130}, {512, 1, 1}, {300, 3, 5000}};

static void check_shape(struct clf_device *device, struct gemm_case shape, enum clf__precision precision,
                        int i)
{
    struct gradient_check check = {.shape = shape, .scale = 1.0f, .precision = precision};
    check_input_gradient(device, check); /* packed, bare */
    check_weight_gradient(device, check);
    check.residual = i % 2 ? RESIDUAL : RESIDUAL_IN_PLACE;
    check.offset = 3;
    check.gap = 1 + i % 5;
    check.scale = 0.75f;
    check_input_gradient(device, check);
    check_weight_gradient(device, check);
    support_free_all();
}

static void check_shapes(struct clf_device *device, enum clf__precision precision)
{
    for (int i = 0; i < gemm_edge_case_count; i += support_small() ? 5 : 1) {
        check_shape(device, gemm_edge_cases[i], precision, i);
    }
    for (int i = 0; i < 4; i += support_small() ? 4 : 1) {
        check_shape(device, deep_cases[i], precision, i);
    }
}

static void shapes(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        check_shapes(device, CLF__PRECISION_FP32);
    }
}

static void shapes_in_bf16(void **state)
{
    (void)state;
    FOR_EACH_DEVICE(device, CLF__PRECISION_BF16)
    {
        check_shapes(device, CLF__PRECISION_BF16);
    }
}

/* An fp32 weight with bf16 GEMM gives the bits of a bf16 weight, also after its values changed; on a device
 * without bf16 instructions, the bits of fp32. */
static void products_in_bf16(void **state)
{
    (void)state;
    enum { ROWS = 40, OUTPUTS = 70, INPUTS = 67, COUNT = OUTPUTS * INPUTS };
    struct support_random random = {.state = 15};
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *values = support_uniform_array(&random, 2 * COUNT, 1.0f);
    FOR_EACH_DEVICE(device, CLF__PRECISION_BF16)
    {
        size_t bytes = ROWS * OUTPUTS * sizeof *x;
        struct clf__weight *weight = make_weight(device, values, OUTPUTS, INPUTS);
        struct clf__weight *first = make_weight_in(device, CLF__PRECISION_BF16, values, OUTPUTS, INPUTS);
        struct clf__weight *second =
            make_weight_in(device, CLF__PRECISION_BF16, values + COUNT, OUTPUTS, INPUTS);
        float *exact = multiply(device, weight, x, ROWS);
        assert_ok(clf__weight_changed(weight));
        assert_ok(clf__weight_multiply_in(weight, CLF__PRECISION_BF16));
        assert_ok(clf__weight_multiply_in(weight, CLF__PRECISION_BF16));
        assert_ok(clf__weight_changed(weight)); /* before there is a copy */
        if (!clf__has_bf16_gemm(device)) {
            assert_memory_equal(multiply(device, weight, x, ROWS), exact, bytes);
            clf__weight_free(weight);
            clf__weight_free(first);
            clf__weight_free(second);
            continue;
        }
        assert_memory_equal(multiply(device, weight, x, ROWS), multiply(device, first, x, ROWS), bytes);
        assert_int_equal(clf__gemm_operand(weight), CLF__PRECISION_FP32);
        assert_ok(clf__weight_write(weight, 0, OUTPUTS, values + COUNT));
        assert_memory_equal(multiply(device, weight, x, ROWS), multiply(device, second, x, ROWS), bytes);

        struct clf__weight *other = make_weight(device, values, OUTPUTS, INPUTS);
        assert_ok(clf__buffer_copy((struct clf__buffer *)clf__weight_layout(weight).buffer, 0,
                                   clf__weight_layout(other).buffer, 0,
                                   clf__weight_elements(weight) * sizeof(float)));
        assert_ok(clf__weight_changed(weight));
        assert_memory_equal(multiply(device, weight, x, ROWS), multiply(device, first, x, ROWS), bytes);
        assert_ok(clf__weight_multiply_in(weight, CLF__PRECISION_FP32));
        assert_memory_equal(multiply(device, weight, x, ROWS), exact, bytes);
        clf__weight_free(weight);
        clf__weight_free(first);
        clf__weight_free(second);
        clf__weight_free(other);
    }
}

/* The weight gradient over all rows has the bits of accumulation over a few rows at a time, unless matrix
 * instructions compute it, and the input gradient of a row is independent of other rows. */
static void check_chunks(struct clf_device *device, enum clf__precision precision)
{
    enum { ROWS = 300, OUTPUTS = 75, INPUTS = 83 };
    static const int chunks[] = {2, 6, 128, 130}; /* bf16 processes rows in pairs */
    struct support_random random = {.state = 12};
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *dy = support_uniform_array(&random, ROWS * OUTPUTS, 1.0f);
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    struct clf__tensor inputs = support_tensor(device, CLF__F32, ROWS, INPUTS, x);
    struct clf__tensor gradients = support_tensor(device, CLF__F32, ROWS, OUTPUTS, dy);
    struct clf__weight *weight = make_weight(device, w, OUTPUTS, INPUTS);
    assert_ok(clf__weight_multiply_in(weight, precision));
    int is_chain = precision == CLF__PRECISION_FP32 || !clf__caps_have_matrix(clf__device_caps(device));
    const float *dx = NULL, *dw = NULL;
    for (int i = -1; i < 4; i += support_small() ? 3 : 1) {
        int chunk = i < 0 ? ROWS : chunks[i] + (precision == CLF__PRECISION_FP32);
        struct clf__tensor result = support_tensor(device, CLF__F32, ROWS, INPUTS, NULL);
        struct clf__weight *gradient = make_zero(device, OUTPUTS, INPUTS);
        assert_ok(clf__weight_multiply_in(gradient, precision));
        for (int row = 0; row < ROWS; row += chunk) {
            int count = chunk < ROWS - row ? chunk : ROWS - row;
            struct clf__matrix to = clf__tensor_matrix(result), from = clf__tensor_matrix(gradients);
            struct clf__matrix operand = clf__tensor_matrix(inputs);
            to.offset += (size_t)row * INPUTS;
            operand.offset += (size_t)row * INPUTS;
            from.offset += (size_t)row * OUTPUTS;
            assert_ok(clf__gemm_input_gradient(to, from, count, weight, 0.3f,
                                               (struct clf__matrix){.buffer = NULL}));
            assert_ok(clf__gemm_weight_gradient(gradient, from, operand, count, 0.3f));
        }
        const float *dx_now = support_read(result), *dw_now = read_weight(gradient);
        dx = dx ? dx : dx_now;
        dw = dw ? dw : dw_now;
        assert_memory_equal(dx_now, dx, ROWS * INPUTS * sizeof *dx);
        if (is_chain) {
            assert_memory_equal(dw_now, dw, OUTPUTS * INPUTS * sizeof *dw);
        }
        clf__weight_free(gradient);
    }
    clf__weight_free(weight);
}

static void bits_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        check_chunks(device, CLF__PRECISION_FP32);
        check_chunks(device, CLF__PRECISION_BF16);
    }
}

/* An infinity affects the sums that contain it, but not the padding of the gradient. */
static void check_gradient_not_finite(struct clf_device *device, enum clf__precision precision)
{
    enum { ROWS = 20, OUTPUTS = 40, INPUTS = 70 };
    struct support_random random = {.state = 13};
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *dy = support_uniform_array(&random, ROWS * OUTPUTS, 1.0f);
    x[3 * INPUTS + 66] = INFINITY;
    x[4 * INPUTS] = NAN;
    struct clf__weight *gradient = make_zero(device, OUTPUTS, INPUTS);
    assert_ok(clf__weight_multiply_in(gradient, precision));
    assert_ok(clf__gemm_weight_gradient(
        gradient, clf__tensor_matrix(support_tensor(device, CLF__F32, ROWS, OUTPUTS, dy)),
        clf__tensor_matrix(support_tensor(device, CLF__F32, ROWS, INPUTS, x)), ROWS, 1.0f));
    check_padding(gradient);
    const float *values = read_weight(gradient);
    for (int i = 0; i < OUTPUTS * INPUTS; i++) {
        int k = i % INPUTS;
        assert_true(k == 0 ? isnan(values[i]) : k == 66 ? isinf(values[i]) : isfinite(values[i]));
    }
    clf__weight_free(gradient);
}

static void padding_stays_zero(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        check_gradient_not_finite(device, CLF__PRECISION_FP32);
        check_gradient_not_finite(device, CLF__PRECISION_BF16);
    }
}

static void rows_are_read_and_written(void **state)
{
    (void)state;
    enum { OUTPUTS = 100, INPUTS = 7 };
    static const int ranges[][2] = {{0, 0},  {0, 1},  {5, 3},   {30, 5}, {32, 32},
                                    {1, 99}, {96, 4}, {0, 100}, {37, 1}, {99, 1}};
    struct support_random random = {.state = 14};
    FOR_EACH_NATIVE(device)
    {
        float expected[OUTPUTS * INPUTS] = {0};
        struct clf__weight *weight = make_zero(device, OUTPUTS, INPUTS);
        assert_int_equal(clf__weight_elements(weight), 128 * INPUTS);
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            int first = ranges[i][0], count = ranges[i][1];
            float *rows = support_uniform_array(&random, (size_t)(count + 1) * INPUTS, 1.0f);
            memcpy(expected + first * INPUTS, rows, (size_t)count * INPUTS * sizeof *rows);
            assert_ok(clf__weight_write(weight, first, count, rows));
            assert_memory_equal(read_weight(weight), expected, sizeof expected);
            float *part = support_array((size_t)count * INPUTS + 1, sizeof *part);
            part[count * INPUTS] = 9.0f;
            assert_ok(clf__weight_read(weight, first, count, part));
            assert_memory_equal(part, rows, (size_t)count * INPUTS * sizeof *part);
            assert_true(part[count * INPUTS] == 9.0f);
        }
        check_padding(weight);
        clf__weight_free(weight);
    }
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    float numbers[64] = {0};
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    struct clf__weight *weight = NULL;
    assert_fails(clf__weight_create_zero(&weight, device, 0, 4, "w"), CLF_BAD_ARGUMENT, "w: ");
    assert_fails(clf__weight_create_zero(&weight, device, 4, 0, "w"), CLF_BAD_ARGUMENT, "w: ");
    assert_fails(clf__weight_create_zero(&weight, device, -3, 4, "w"), CLF_BAD_ARGUMENT, "w: ");
    assert_null(weight);

    weight = make_weight_in(device, CLF__PRECISION_BF16, numbers, 4, 4);
    struct clf__matrix x = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, numbers));
    struct clf__matrix y = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, NULL));
    struct clf__matrix none = {.stride = 4}, narrow = {.buffer = x.buffer, .stride = 3},
                       late = {.buffer = x.buffer, .offset = 1, .stride = 4};
    struct clf__matrix rounded = {.buffer = x.buffer, .stride = 4, .precision = CLF__PRECISION_BF16};
    assert_fails(clf__weight_read(weight, 0, 4, numbers), CLF_BAD_ARGUMENT, "only fp32");
    assert_fails(clf__weight_write(weight, 0, 4, numbers), CLF_BAD_ARGUMENT, "only fp32");
    assert_fails(clf__weight_multiply_in(weight, CLF__PRECISION_FP32), CLF_UNSUPPORTED, "precision 2");
    assert_fails(clf__gemm_input_gradient(y, x, 3, weight, 1.0f, none), CLF_BAD_ARGUMENT, "precisions 2");
    assert_fails(clf__gemm_weight_gradient(weight, y, x, 3, 1.0f), CLF_BAD_ARGUMENT, "precisions 2");
    clf__weight_free(weight);

    weight = make_zero(device, 4, 4);
    assert_fails(clf__weight_read(weight, -1, 1, numbers), CLF_BAD_ARGUMENT, "row -1");
    assert_fails(clf__weight_read(weight, 1, -1, numbers), CLF_BAD_ARGUMENT, "-1 rows");
    assert_fails(clf__weight_write(weight, 2, 3, numbers), CLF_BAD_ARGUMENT, "4 outputs");
    assert_fails(clf__weight_multiply_in(weight, CLF__PRECISION_INT8), CLF_UNSUPPORTED, "precision 3");
    assert_ok(clf__gemm_input_gradient(none, none, 0, weight, 1.0f, none));
    assert_ok(clf__gemm_weight_gradient(weight, none, none, 0, 1.0f));
    assert_fails(clf__gemm_input_gradient(y, x, -1, weight, 1.0f, none), CLF_BAD_ARGUMENT, "row count -1");
    assert_fails(clf__gemm_weight_gradient(weight, y, x, -1, 1.0f), CLF_BAD_ARGUMENT, "row count -1");
    struct clf__matrix bad[] = {none, narrow, late, rounded};
    for (int i = 0; i < 4; i++) {
        assert_fails(clf__gemm_input_gradient(bad[i], x, 3, weight, 1.0f, none), CLF_BAD_ARGUMENT, "GEMM");
        assert_fails(clf__gemm_input_gradient(y, bad[i], 3, weight, 1.0f, none), CLF_BAD_ARGUMENT, "GEMM");
        assert_fails(clf__gemm_weight_gradient(weight, bad[i], x, 3, 1.0f), CLF_BAD_ARGUMENT, "GEMM");
        assert_fails(clf__gemm_weight_gradient(weight, x, bad[i], 3, 1.0f), CLF_BAD_ARGUMENT, "GEMM");
        if (i > 0) {
            assert_fails(clf__gemm_input_gradient(y, x, 3, weight, 1.0f, bad[i]), CLF_BAD_ARGUMENT,
                         "residual");
        }
    }
    assert_fails(clf__gemm_reserve_gradients(device, 4, 4, 4, CLF__PRECISION_FP16), CLF_BAD_ARGUMENT,
                 "precision 1");
    assert_ok(clf__gemm_reserve_gradients(device, 0, 4, 4, CLF__PRECISION_FP32));
    clf__weight_free(weight);
}

/* Computes both gradients over a number of rows. */
static clf_status differentiate(struct clf_device *device, int rows, int outputs, int inputs)
{
    struct clf__matrix x = clf__tensor_matrix(support_tensor(device, CLF__F32, rows, inputs, NULL));
    struct clf__matrix dy = clf__tensor_matrix(support_tensor(device, CLF__F32, rows, outputs, NULL));
    struct clf__weight *weight = make_zero(device, outputs, inputs);
    clf_status status =
        clf__gemm_input_gradient(x, dy, rows, weight, 1.0f, (struct clf__matrix){.buffer = NULL});
    if (status == CLF_OK) {
        status = clf__gemm_weight_gradient(weight, dy, x, rows, 1.0f);
    }
    clf__weight_free(weight);
    return status;
}

static void reserved_memory_is_enough(void **state)
{
    (void)state;
    int rows = support_small() ? 90 : 900, outputs = support_small() ? 70 : 700, inputs = outputs - 10;
    FOR_EACH_NATIVE(device)
    {
        assert_ok(clf__gemm_reserve_gradients(device, rows, outputs, inputs, CLF__PRECISION_FP32));
        const struct clf__buffer *operand = device->packed, *transposed = device->transposed;
        assert_ok(differentiate(device, rows, outputs, inputs));
        assert_ok(differentiate(device, 13, 7, inputs));
        assert_ptr_equal(device->packed, operand);
        assert_ptr_equal(device->transposed, transposed);
    }
}

/* Each allocation, then each OpenCL call, of creating, filling and using a weight fails in turn: an error
 * message every time, and no leak (checked by sanitizers). */
static clf_status train_weight(struct clf__weight *weight, enum clf__precision precision,
                               struct clf__matrix dx, struct clf__matrix dy)
{
    float numbers[16] = {0};
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    CLF__TRY(clf__weight_write(weight, 0, 3, numbers));
    CLF__TRY(clf__weight_multiply_in(weight, precision));
    CLF__TRY(clf__gemm_weight(dy, dx, 3, weight, &epilogue));
    CLF__TRY(clf__gemm_input_gradient(dx, dy, 3, weight, 1.0f, dx));
    CLF__TRY(clf__gemm_weight_gradient(weight, dy, dx, 3, 1.0f));
    CLF__TRY(clf__weight_changed(weight));
    return clf__weight_read(weight, 1, 2, numbers);
}

static clf_status train(struct clf_device *device, enum clf__precision precision, struct clf__matrix dx,
                        struct clf__matrix dy)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__weight_create_zero(&weight, device, 4, 4, "a weight that may fail"));
    clf_status status = train_weight(weight, precision, dx, dy);
    clf__weight_free(weight);
    return status;
}

static void fail_each(struct clf_device *device, enum clf__precision precision, void (*fail_at)(uint64_t))
{
    float numbers[64] = {0};
    struct clf__matrix dy = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, numbers));
    struct clf__matrix dx = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, numbers));
    clf_status status = CLF_DEVICE;
    int failures = -1;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        assert_true(n < 200);
        clf__buffer_free(device->transposed);
        clf__buffer_free(device->packed);
        device->transposed = device->packed = NULL; /* so that they are allocated again each time */
        fail_at(n);
        status = train(device, precision, dx, dy);
        fail_at(0);
        assert_true(status == CLF_OK || strlen(clf_last_error()) > 10);
        failures++;
    }
    assert_true(failures >= 5);
}

static void failures_are_told(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        for (int bf16 = 0; bf16 <= 1; bf16++) {
            enum clf__precision precision = bf16 ? CLF__PRECISION_BF16 : CLF__PRECISION_FP32;
            fail_each(device, precision, clf__device_fail_at);
            fail_each(device, precision, clf__memory_fail_at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shapes, support_teardown),
        cmocka_unit_test_teardown(shapes_in_bf16, support_teardown),
        cmocka_unit_test_teardown(products_in_bf16, support_teardown),
        cmocka_unit_test_teardown(bits_do_not_depend_on_the_batch, support_teardown),
        cmocka_unit_test_teardown(padding_stays_zero, support_teardown),
        cmocka_unit_test_teardown(rows_are_read_and_written, support_teardown),
        cmocka_unit_test_teardown(bad_calls_are_refused, support_teardown),
        cmocka_unit_test_teardown(reserved_memory_is_enough, support_teardown),
        cmocka_unit_test_teardown(failures_are_told, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
