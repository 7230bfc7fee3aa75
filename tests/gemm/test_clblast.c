/* CLBlast as the GEMM backend. Its first call compiles for seconds, so all tests are in this process. */
#include "gemm/check_gradient.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"

static struct clf_device *clblast_device(clf_variant variant)
{
    return support_device_with(variant, CLF_GEMM_CLBLAST, CLF_ATTENTION_AUTO);
}

static void weights(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{1, 1, 1}, {5, 33, 17}, {40, 70, 65}};
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = clblast_device((clf_variant)variant);
        for (int i = 0; i < 3; i++) {
            for (int residual = NO_RESIDUAL; residual <= RESIDUAL_IN_PLACE; residual++) {
                struct gemm_check check = {
                    .shape = cases[i], .residual = (enum residual_choice)residual, .scale = 1.0f};
                check_gemm(device, check); /* in place: CLBlast adds to the residual itself */
                check.activation = i == 1 ? CLF__GELU_TANH : CLF__RELU;
                check.has_bias = 1;
                check.offset = 3;
                check.gap = 1 + i;
                check.scale = 0.5f;
                check_gemm(device, check);
                check.activation = CLF__IDENTITY;
                check_gemm(device, check);
            }
        }
    }
}

/* In the GPU variant, few rows use a native kernel on CLBlast's weights: 8 outputs and up to 8 rows per
 * group, 64 inputs per step. */
static void few_rows(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{1, 1, 1},    {1, 8, 64},   {2, 9, 63},  {3, 7, 65},
                                             {4, 17, 128}, {5, 33, 130}, {7, 8, 260}, {8, 16, 256},
                                             {9, 20, 515}, {32, 24, 332}};
    struct clf_device *device = clblast_device(CLF_VARIANT_GPU);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gemm_check check = {.shape = cases[i], .scale = 1.0f};
        check_gemm(device, check);
        check.activation = (enum clf__activation)(i % 5);
        check.has_bias = 1;
        check.residual = i % 2 ? RESIDUAL : RESIDUAL_IN_PLACE;
        check.scale = 0.5f;
        check_gemm(device, check);
        check.offset = 4;
        check.gap = 4;
        check_gemm(device, check);
        check.offset = 3; /* rows at any offset */
        check_gemm(device, check);
    }
}

/* A row's bits depend neither on the number of rows, up to 32, nor on their offset. */
static void few_rows_have_their_bits(void **state)
{
    (void)state;
    enum { ROWS = 32, INPUTS = 332, OUTPUTS = 19 };
    struct clf_device *device = clblast_device(CLF_VARIANT_GPU);
    struct support_random random = {.state = 6};
    float *numbers = support_uniform_array(&random, (size_t)ROWS * INPUTS, 1.0f);
    float *w = support_uniform_array(&random, (size_t)OUTPUTS * INPUTS, 1.0f);
    struct clf__weight *weight = make_weight(device, w, OUTPUTS, INPUTS);
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    float *together = NULL;
    for (int rows = ROWS; rows > 0; rows = rows > 8 ? rows / 2 : rows - 1) {
        for (int offset = 0; offset <= 1; offset++) {
            struct framed x = make_framed(device, rows, INPUTS, offset, 0, numbers);
            struct framed y = make_framed(device, rows, OUTPUTS, 0, 0, NULL);
            assert_ok(clf__gemm_weight(y.view, x.view, rows, weight, &epilogue));
            float *values = read_framed(y);
            together = together ? together : values;
            assert_memory_equal(values, together, (size_t)rows * OUTPUTS * sizeof *values);
        }
    }
    clf__weight_free(weight);
}

/* CLBlast copies operands to memory that is kept for it. Every hundredth row is checked. */
static void large_weights(void **state)
{
    (void)state;
    enum { ROWS = 1050, OUTPUTS = 1030, INPUTS = 1029 };
    if (support_small()) {
        return;
    }
    struct clf_device *device = clblast_device(CLF_VARIANT_CPU);
    struct support_random random = {.state = 8};
    float *numbers = support_uniform_array(&random, (size_t)ROWS * INPUTS, 1.0f);
    float *w = support_uniform_array(&random, (size_t)OUTPUTS * INPUTS, 1.0f);
    struct clf__weight *weight = make_weight(device, w, OUTPUTS, INPUTS);
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    for (int rows = ROWS; rows >= ROWS - 1; rows--) { /* the second into the first one's memory */
        struct framed x = make_framed(device, rows, INPUTS, 1, 2, numbers);
        struct framed y = make_framed(device, rows, OUTPUTS, 2, 1, NULL);
        assert_ok(clf__gemm_weight(y.view, x.view, rows, weight, &epilogue));
        assert_non_null(device->packed);
        const float *actual = read_framed(y);
        double expected[OUTPUTS];
        for (int row = 7; row < rows; row += 100) {
            reference_gemm_row(expected, numbers + (size_t)row * INPUTS, w, OUTPUTS, INPUTS, 1.0, NULL,
                               CLF__IDENTITY, NULL);
            assert_close(actual + (size_t)row * OUTPUTS, expected, OUTPUTS, 2e-6);
        }
    }
    clf__weight_free(weight);
}

static void weights_lie_row_major(void **state)
{
    (void)state;
    struct support_random random = {.state = 4};
    float *w = support_uniform_array(&random, 35 * 6, 1.0f);
    const struct clf__weight_part parts[] = {{w, 30}, {w, 0}, {w + 30 * 6, 5}};
    struct clf__weight *weight = NULL;
    assert_ok(
        clf__weight_create(&weight, clblast_device(CLF_VARIANT_CPU),
                           &(struct clf__weight_source){
                               .parts = parts, .part_count = 3, .inputs = 6, .what = "a stacked weight"}));
    struct clf__weight_layout layout = clf__weight_layout(weight);
    assert_int_equal(layout.panel, 1);
    assert_true(clf__buffer_bytes(layout.buffer) <=
                clf__weight_bytes(clf__buffer_device(layout.buffer), CLF__PRECISION_FP32, 35, 6));
    float *held = support_array(35 * 6, sizeof *held);
    assert_ok(clf__buffer_read(layout.buffer, 0, 35 * 6 * sizeof *held, held));
    assert_memory_equal(held, w, 35 * 6 * sizeof *held);
    clf__weight_free(weight);
}

static void batches(void **state)
{
    (void)state;
    static const struct gemm_batched_case cases[] = {
        {1, 1, 1, 1}, {3, 17, 33, 20}, {2, 40, 9, 64}, {2, 5, 6, 0}};
    struct clf_device *device = clblast_device(CLF_VARIANT_CPU);
    for (int i = 0; i < 4; i++) {
        for (int transpose_b = 0; transpose_b <= 1; transpose_b++) {
            struct gemm_batched_check check = {.shape = cases[i], .transpose_b = transpose_b, .alpha = 0.5f};
            check_gemm_batched(device, check); /* packed: CLBlast's strided batched GEMM */
            check.offset = 5;
            check_gemm_batched(device, check);
            check.gap = 3;
            check.step_gap = 2;
            check_gemm_batched(device, check);
        }
    }
}

/* CLBlast 1.5.3 uses its path for large matrices, which ignores offsets and batch strides unless prevented:
 * every dimension is a multiple of its tiles, so that it copies nothing. */
static void large_batches_with_offsets(void **state)
{
    (void)state;
    if (support_small()) {
        return;
    }
    struct gemm_batched_check check = {.shape = {2, 1024, 1024, 1024}, .transpose_b = 1, .alpha = 1.0f};
    check_gemm_batched(clblast_device(CLF_VARIANT_CPU), check);
    check.offset = 1024;
    check_gemm_batched(clblast_device(CLF_VARIANT_CPU), check);
    check.offset = 0;
    check.step_gap = 2048;
    check.transpose_b = 0;
    check_gemm_batched(clblast_device(CLF_VARIANT_CPU), check);
}

static void gradients(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{1, 1, 1}, {5, 33, 17}, {40, 70, 65}, {130, 31, 64}};
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = clblast_device((clf_variant)variant);
        for (int i = 0; i < 4; i++) {
            struct gradient_check check = {.shape = cases[i], .scale = 1.0f};
            check_weight_gradient(device, check);
            for (int residual = NO_RESIDUAL; residual <= RESIDUAL_IN_PLACE; residual++) {
                check.residual = (enum residual_choice)residual;
                check_input_gradient(device, check);
            }
            check.offset = 3;
            check.gap = 1 + i;
            check.scale = 0.75f;
            check_weight_gradient(device, check);
            check_input_gradient(device, check);
        }
    }
}

/* CLBlast copies operands to reserved memory. */
static void large_gradients(void **state)
{
    (void)state;
    if (support_small()) {
        return;
    }
    struct gradient_check check = {.shape = {1031, 331, 337}, .scale = 1.0f};
    for (int i = 0; i <= 1; i++) {
        struct clf_device *device = clblast_device(CLF_VARIANT_CPU);
        assert_ok(clf__gemm_reserve_gradients(device, check.shape.rows, check.shape.outputs,
                                              check.shape.inputs, CLF__PRECISION_FP32));
        const struct clf__buffer *reserved = device->packed;
        check_input_gradient(device, check);
        check_weight_gradient(device, check);
        assert_ptr_equal(device->packed, reserved);
        check.offset = 1;
        check.gap = 2;
    }
}

static void weight_rows(void **state)
{
    (void)state;
    float rows[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, held[15], part[6];
    struct clf__weight *weight = make_zero(clblast_device(CLF_VARIANT_CPU), 5, 3);
    assert_int_equal(clf__weight_elements(weight), 15);
    assert_ok(clf__weight_write(weight, 2, 2, rows));
    assert_ok(clf__weight_read(weight, 0, 5, held));
    for (int i = 0; i < 15; i++) {
        assert_true(held[i] == (i >= 6 && i < 12 ? rows[i - 6] : 0.0f));
    }
    assert_ok(clf__weight_read(weight, 2, 2, part));
    assert_memory_equal(part, rows, sizeof rows);
    assert_ok(clf__weight_read(weight, 5, 0, NULL));
    assert_fails(clf__weight_write(weight, 4, 2, rows), CLF_BAD_ARGUMENT, "5 outputs");
    assert_ok(clf__weight_multiply_in(weight, CLF__PRECISION_FP32));
    assert_ok(clf__weight_changed(weight));
    assert_fails(clf__weight_multiply_in(weight, CLF__PRECISION_BF16), CLF_UNSUPPORTED, "native");
    clf__weight_free(weight);
}

/* Each OpenCL call of a GEMM fails in turn: an error message every time, and no leak. */
static void failing_calls(void **state)
{
    (void)state;
    struct clf_device *device = clblast_device(CLF_VARIANT_CPU);
    struct support_random random = {.state = 9};
    float *numbers = support_uniform_array(&random, 64, 1.0f);
    struct clf__tensor x = support_tensor(device, CLF__F32, 4, 4, numbers);
    struct clf__tensor y = support_tensor(device, CLF__F32, 4, 4, numbers);
    struct clf__weight *weight = make_weight(device, numbers, 4, 4);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.activation = CLF__RELU;
    epilogue.residual = clf__tensor_matrix(y);
    struct clf__batched_matrix two = {clf__tensor_matrix(x), 8}, result = {clf__tensor_matrix(y), 8};
    struct clf__batched_shape shape = {2, 2, 2, 4, 1, 1.0f};
    struct clf__matrix bare = clf__tensor_matrix(x);
    for (int product = 0; product < 4; product++) {
        clf_status status = CLF_DEVICE;
        int failures = -1;
        for (uint64_t n = 1; status != CLF_OK; n++) {
            assert_true(n < 100);
            clf__device_fail_at(n);
            status = product == 0   ? clf__gemm_weight(epilogue.residual, bare, 4, weight, &epilogue)
                     : product == 1 ? clf__gemm_batched(result, two, two, &shape)
                     : product == 2 ? clf__gemm_input_gradient(epilogue.residual, bare, 4, weight, 1.0f, bare)
                                    : clf__gemm_weight_gradient(weight, bare, epilogue.residual, 4, 1.0f);
            clf__device_fail_at(0);
            assert_true(status == CLF_OK || strlen(clf_last_error()) > 10);
            failures++;
        }
        assert_true(failures >= 1);
    }
    clf__weight_free(weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(weights, support_teardown),
        cmocka_unit_test_teardown(few_rows, support_teardown),
        cmocka_unit_test_teardown(few_rows_have_their_bits, support_teardown),
        cmocka_unit_test_teardown(large_weights, support_teardown),
        cmocka_unit_test_teardown(weights_lie_row_major, support_teardown),
        cmocka_unit_test_teardown(batches, support_teardown),
        cmocka_unit_test_teardown(large_batches_with_offsets, support_teardown),
        cmocka_unit_test_teardown(gradients, support_teardown),
        cmocka_unit_test_teardown(large_gradients, support_teardown),
        cmocka_unit_test_teardown(weight_rows, support_teardown),
        cmocka_unit_test_teardown(failing_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
