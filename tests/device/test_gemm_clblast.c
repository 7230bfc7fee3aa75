/* CLBlast behind the door. It compiles for seconds at its first call, so all of it is tested in this one
 * process. */
#include "device/buffer.h"
#include "device/check_gemm.h"
#include "device/testing.h"

static struct clf_device *clblast_device(clf_form form)
{
    return support_device_with(form, CLF_GEMM_CLBLAST, CLF_ATTENTION_AUTO);
}

static void weights(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{1, 1, 1}, {5, 33, 17}, {40, 70, 65}};
    for (int form = support_first_form(); form <= support_last_form(); form++) {
        struct clf_device *device = clblast_device((clf_form)form);
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

static void weights_lie_row_major(void **state)
{
    (void)state;
    struct support_random random = {.state = 4};
    float *w = support_uniform_array(&random, 35 * 6, 1.0f);
    const struct clf__weight_part parts[] = {{w, 30}, {w, 0}, {w + 30 * 6, 5}};
    struct clf__weight *weight = NULL;
    assert_ok(
        clf__weight_create(&weight, clblast_device(CLF_FORM_CPU),
                           &(struct clf__weight_source){
                               .parts = parts, .part_count = 3, .inputs = 6, .what = "a stacked weight"}));
    struct clf__weight_layout layout = clf__weight_layout(weight);
    assert_int_equal(layout.panel, 1);
    assert_true(clf__buffer_bytes(layout.buffer) <= clf__weight_bytes(CLF_PRECISION_FP32, 35, 6));
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
    struct clf_device *device = clblast_device(CLF_FORM_CPU);
    for (int i = 0; i < 4; i++) {
        for (int transpose_b = 0; transpose_b <= 1; transpose_b++) {
            struct gemm_batched_check check = {.shape = cases[i], .transpose_b = transpose_b, .alpha = 0.5f};
            check_gemm_batched(device, check); /* packed: CLBlast's strided product */
            check.offset = 5;
            check_gemm_batched(device, check);
            check.gap = 3;
            check.step_gap = 2;
            check_gemm_batched(device, check);
        }
    }
}

/* Where CLBlast 1.5.3 takes its path for large matrices and, left alone, would drop offsets and batch
 * strides: every dimension a multiple of its tiles, so that it copies nothing. */
static void large_batches_with_offsets(void **state)
{
    (void)state;
    if (support_small()) {
        return;
    }
    struct gemm_batched_check check = {.shape = {2, 1024, 1024, 1024}, .transpose_b = 1, .alpha = 1.0f};
    check_gemm_batched(clblast_device(CLF_FORM_CPU), check);
    check.offset = 1024;
    check_gemm_batched(clblast_device(CLF_FORM_CPU), check);
    check.offset = 0;
    check.step_gap = 2048;
    check.transpose_b = 0;
    check_gemm_batched(clblast_device(CLF_FORM_CPU), check);
}

/* Each OpenCL call of a product fails in turn: a sentence every time, and nothing lost. */
static void failing_calls(void **state)
{
    (void)state;
    struct clf_device *device = clblast_device(CLF_FORM_CPU);
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
    for (int batched = 0; batched <= 1; batched++) {
        clf_status status = CLF_DEVICE;
        int failures = -1;
        for (uint64_t n = 1; status != CLF_OK; n++) {
            assert_true(n < 100);
            clf__device_fail_at(n);
            status = batched ? clf__gemm_batched(result, two, two, &shape)
                             : clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(x), 4, weight,
                                                &epilogue);
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
        cmocka_unit_test_teardown(weights_lie_row_major, support_teardown),
        cmocka_unit_test_teardown(batches, support_teardown),
        cmocka_unit_test_teardown(large_batches_with_offsets, support_teardown),
        cmocka_unit_test_teardown(failing_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
