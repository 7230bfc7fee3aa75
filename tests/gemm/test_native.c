/* Native GEMM with a weight: cl/gemm/gemm.cl in both variants. */
#include "base/memory.h"
#include "gemm/check.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/testing.h"
#include "runtime/program/launch.h"

static void shapes(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        for (int i = 0; i < gemm_edge_case_count; i += support_small() ? 5 : 1) {
            struct gemm_check bare = {.shape = gemm_edge_cases[i], .scale = 1.0f};
            check_gemm(device, bare); /* packed */
            check_gemm(device, edge_check(i, CLF__PRECISION_FP32, CLF__RELU));
            support_free_all();
        }
    }
}

static void activations(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{3, 37, 20}, {70, 69, 33}};
    FOR_EACH_NATIVE(device)
    {
        for (int kind = CLF__IDENTITY; kind <= CLF__SILU; kind++) {
            for (int i = 0; i < 2; i++) {
                struct gemm_check check = {
                    .shape = cases[i],
                    .activation = (enum clf__activation)kind,
                    .residual = i ? RESIDUAL : NO_RESIDUAL,
                    .has_bias = 1,
                    .offset = 5,
                    .gap = 2,
                    .scale = 1.25f,
                };
                check_gemm(device, check);
            }
        }
    }
}

static void bits_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    int last_kind = support_small() ? CLF__IDENTITY : CLF__SILU;
    FOR_EACH_NATIVE(device)
    {
        for (int kind = CLF__IDENTITY; kind <= last_kind; kind += CLF__GELU_ERF) {
            check_batch_invariance(device, CLF__PRECISION_FP32, (enum clf__activation)kind);
        }
    }
}

static void parts_are_stacked(void **state)
{
    (void)state;
    enum { INPUTS = 21, OUTPUTS = 33 + 0 + 1 + 40, ROWS = 5 };
    struct support_random random = {.state = 5};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    const struct clf__weight_part parts[] = {
        {w, 33}, {w + 33 * INPUTS, 0}, {w + 33 * INPUTS, 1}, {w + 34 * INPUTS, 40}};
    FOR_EACH_NATIVE(device)
    {
        struct clf__weight *stacked = NULL, *whole = make_weight(device, w, OUTPUTS, INPUTS);
        assert_ok(clf__weight_create(
            &stacked, device,
            &(struct clf__weight_source){
                .parts = parts, .part_count = 4, .inputs = INPUTS, .what = "a stacked weight"}));
        assert_int_equal(clf__weight_inputs(stacked), INPUTS);
        assert_int_equal(clf__weight_outputs(stacked), OUTPUTS);
        assert_memory_equal(multiply(device, stacked, x, ROWS), multiply(device, whole, x, ROWS),
                            ROWS * OUTPUTS * sizeof *x);
        clf__weight_free(stacked);
        clf__weight_free(whole);
    }
}

static void layout_is_as_said(void **state)
{
    (void)state;
    enum { INPUTS = 7, OUTPUTS = 45 };
    struct support_random random = {.state = 6};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    struct clf__weight *weight = make_weight(
        support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO), w, OUTPUTS, INPUTS);
    struct clf__weight_layout layout = clf__weight_layout(weight);
    assert_int_equal(layout.panel, CLF__PANEL);
    assert_int_equal(
        clf__buffer_bytes(layout.buffer),
        clf__weight_bytes(clf__buffer_device(layout.buffer), CLF__PRECISION_FP32, OUTPUTS, INPUTS));
    float *packed = support_array(1, clf__buffer_bytes(layout.buffer));
    assert_ok(clf__buffer_read(layout.buffer, 0, clf__buffer_bytes(layout.buffer), packed));
    for (int n = 0; n < 64; n++) {
        for (int k = 0; k < INPUTS; k++) {
            float value = packed[((n / layout.panel) * INPUTS + k) * layout.panel + n % layout.panel];
            assert_true(value == (n < OUTPUTS ? w[n * INPUTS + k] : 0.0f));
        }
    }
    clf__weight_free(weight);
}

/* More than one staging chunk, and panels larger than a chunk. */
static void large_weights_are_packed_in_chunks(void **state)
{
    (void)state;
    static const int shapes[][2] = {{2100, 600}, {40, 40000}}; /* outputs, inputs */
    if (support_small()) {
        return;
    }
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    for (int i = 0; i < 2; i++) {
        int outputs = shapes[i][0], inputs = shapes[i][1];
        struct support_random random = {.state = 7};
        float *w = support_uniform_array(&random, (size_t)outputs * (size_t)inputs, 1.0f);
        float *x = support_uniform_array(&random, (size_t)inputs, 1.0f);
        struct clf__weight *weight = make_weight(device, w, outputs, inputs);
        double *expected = support_array((size_t)outputs, sizeof *expected);
        reference_gemm_row(expected, x, w, outputs, inputs, 1, NULL, CLF__IDENTITY, NULL);
        /* one chain of 40000 sums loses a few more bits */
        assert_close(multiply(device, weight, x, 1), expected, (size_t)outputs, 2e-5);
        clf__weight_free(weight);
    }
}

static void not_finite_values_stay_where_they_are(void **state)
{
    (void)state;
    FOR_EACH_NATIVE(device)
    {
        for (int kind = CLF__IDENTITY; kind <= CLF__SILU; kind++) {
            check_not_finite(device, CLF__PRECISION_FP32, (enum clf__activation)kind);
        }
    }
}

/* For large |x| the smooth activations are 0 or x, not NaN from an overflow. */
static void activations_do_not_overflow(void **state)
{
    (void)state;
    const float w[] = {1.0f}, x[] = {-1e30f, -1e10f, -1000.0f, -100.0f, 100.0f, 1000.0f, 1e10f, 1e30f};
    FOR_EACH_NATIVE(device)
    {
        struct clf__weight *weight = make_weight(device, w, 1, 1);
        for (int kind = CLF__RELU; kind <= CLF__SILU; kind++) {
            float *y = multiply_activated(device, weight, x, 8, (enum clf__activation)kind);
            for (int i = 0; i < 8; i++) {
                assert_true(fabsf(y[i] - (x[i] < 0 ? 0.0f : x[i])) <= fabsf(x[i]) * 1e-6f && !isnan(y[i]));
            }
        }
        clf__weight_free(weight);
    }
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    float numbers[64] = {0};
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    struct clf__weight *weight = NULL;
    struct clf__weight_part none = {numbers, 0}, negative = {numbers, -1}, four = {numbers, 4};
    struct clf__weight_part mixed[] = {four, negative, four};
    assert_fails(clf__weight_create(
                     &weight, device,
                     &(struct clf__weight_source){.parts = &none, .part_count = 1, .inputs = 4, .what = "w"}),
                 CLF_BAD_ARGUMENT, "w: ");
    assert_fails(clf__weight_create(&weight, device,
                                    &(struct clf__weight_source){
                                        .parts = &negative, .part_count = 1, .inputs = 4, .what = "w"}),
                 CLF_BAD_ARGUMENT, "w: ");
    assert_fails(clf__weight_create(
                     &weight, device,
                     &(struct clf__weight_source){.parts = mixed, .part_count = 3, .inputs = 4, .what = "w"}),
                 CLF_BAD_ARGUMENT, "w: ");
    assert_fails(clf__weight_create(
                     &weight, device,
                     &(struct clf__weight_source){.parts = &four, .part_count = 1, .inputs = 0, .what = "w"}),
                 CLF_BAD_ARGUMENT, "w: ");
    assert_null(weight);
    clf__weight_free(NULL);

    weight = make_weight(device, numbers, 4, 4);
    struct clf__matrix x = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, numbers));
    struct clf__matrix y = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, NULL));
    struct clf__matrix nothing = {.stride = 4}, narrow = {.buffer = x.buffer, .stride = 3},
                       late = {.buffer = x.buffer, .offset = 1, .stride = 4};
    struct clf__matrix far_away = {.buffer = x.buffer, .offset = (size_t)1 << 31, .stride = 4};
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    assert_ok(clf__gemm_weight(nothing, nothing, 0, weight, &epilogue));
    assert_fails(clf__gemm_weight(y, x, -1, weight, &epilogue), CLF_BAD_ARGUMENT, "row count -1");
    assert_fails(clf__gemm_weight(y, x, 4, weight, &epilogue), CLF_BAD_ARGUMENT, "result");
    assert_fails(clf__gemm_weight(y, nothing, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "operand");
    assert_fails(clf__gemm_weight(y, narrow, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "stride");
    assert_fails(clf__gemm_weight(y, late, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "ends");
    assert_fails(clf__gemm_weight(y, far_away, 3, weight, &epilogue), CLF_UNSUPPORTED, "starts");
    epilogue.residual = late;
    assert_fails(clf__gemm_weight(y, x, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "residual");
    epilogue.residual.buffer = NULL;
    epilogue.bias = support_tensor(device, CLF__F32, 1, 3, numbers).buffer;
    assert_fails(clf__gemm_weight(y, x, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "bias");
    epilogue.bias = NULL;
    epilogue.activation = (enum clf__activation)99;
    assert_fails(clf__gemm_weight(y, x, 3, weight, &epilogue), CLF_BAD_ARGUMENT, "activation 99");
    clf__weight_free(weight);
}

/* Each allocation, then each OpenCL call, of creating and using a weight fails in turn: an error message
 * every time, and no leak (checked by sanitizers). */
static void failures_are_told(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    float numbers[64] = {0};
    const struct clf__weight_part part = {numbers, 4};
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    struct clf__matrix x = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, numbers));
    struct clf__matrix y = clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, NULL));
    for (int calls = 0; calls <= 1; calls++) {
        clf_status status = CLF_DEVICE;
        int failures = -1;
        for (uint64_t n = 1; status != CLF_OK; n++) {
            assert_true(n < 200);
            struct clf__weight *weight = NULL;
            calls ? clf__device_fail_at(n) : clf__memory_fail_at(n);
            status = clf__weight_create(
                &weight, device,
                &(struct clf__weight_source){
                    .parts = &part, .part_count = 1, .inputs = 4, .what = "a weight that may fail"});
            assert_true((status == CLF_OK) == (weight != NULL));
            if (status == CLF_OK) {
                status = clf__gemm_weight(y, x, 3, weight, &epilogue);
            }
            calls ? clf__device_fail_at(0) : clf__memory_fail_at(0);
            assert_true(status == CLF_OK || strlen(clf_last_error()) > 10);
            clf__weight_free(weight);
            failures++;
        }
        assert_true(failures >= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shapes, support_teardown),
        cmocka_unit_test_teardown(activations, support_teardown),
        cmocka_unit_test_teardown(bits_do_not_depend_on_the_batch, support_teardown),
        cmocka_unit_test_teardown(parts_are_stacked, support_teardown),
        cmocka_unit_test_teardown(layout_is_as_said, support_teardown),
        cmocka_unit_test_teardown(large_weights_are_packed_in_chunks, support_teardown),
        cmocka_unit_test_teardown(not_finite_values_stay_where_they_are, support_teardown),
        cmocka_unit_test_teardown(activations_do_not_overflow, support_teardown),
        cmocka_unit_test_teardown(bad_calls_are_refused, support_teardown),
        cmocka_unit_test_teardown(failures_are_told, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
