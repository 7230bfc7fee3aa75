/* Native batched GEMM: cl/gemm/gemm_batched.cl in both variants. */
#include "gemm/check.h"

static void shapes(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
        for (int i = 0; i < gemm_batched_edge_case_count; i += support_small() ? 4 : 1) {
            for (int transpose_b = 0; transpose_b <= 1; transpose_b++) {
                struct gemm_batched_check check = {
                    .shape = gemm_batched_edge_cases[i], .transpose_b = transpose_b, .alpha = 1.0f};
                check_gemm_batched(device, check);
                check.offset = 3;
                check.gap = 1 + i % 4;
                check.step_gap = 7;
                check.alpha = 0.125f;
                check_gemm_batched(device, check);
                support_free_all();
            }
        }
    }
}

/* Heads are adjacent in a row: (tokens, heads * width), batch_stride = width, less than a matrix. */
static void heads_side_by_side(void **state)
{
    (void)state;
    enum { HEADS = 3, WIDTH = 10, QUERIES = 37, KEYS = 45, ALL = HEADS * WIDTH };
    struct support_random random = {.state = 3};
    float *q = support_uniform_array(&random, QUERIES * ALL, 1.0f);
    float *k = support_uniform_array(&random, KEYS * ALL, 1.0f);
    double *expected = support_array(HEADS * QUERIES * KEYS, sizeof *expected);
    for (int i = 0; i < HEADS * QUERIES * KEYS; i++) {
        int head = i / (QUERIES * KEYS), query = i / KEYS % QUERIES, key = i % KEYS;
        expected[i] =
            reference_dot(q + query * ALL + head * WIDTH, 1, k + key * ALL + head * WIDTH, 1, WIDTH, 0.5);
    }
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
        struct clf__tensor scores = support_tensor(device, CLF__F32, HEADS * QUERIES, KEYS, NULL);
        struct clf__batched_matrix c = {clf__tensor_matrix(scores), QUERIES * KEYS};
        struct clf__batched_matrix a = {clf__tensor_matrix(support_tensor(device, CLF__F32, QUERIES, ALL, q)),
                                        WIDTH};
        struct clf__batched_matrix b = {clf__tensor_matrix(support_tensor(device, CLF__F32, KEYS, ALL, k)),
                                        WIDTH};
        struct clf__batched_shape shape = {HEADS, QUERIES, KEYS, WIDTH, 1, 0.5f};
        assert_ok(clf__gemm_batched(c, a, b, &shape));
        assert_close(support_read(scores), expected, HEADS * QUERIES * KEYS, 2e-6);
    }
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    struct clf__batched_matrix twelve = {clf__tensor_matrix(support_tensor(device, CLF__F32, 3, 4, NULL)), 4};
    struct clf__batched_shape shape = {3, 1, 4, 4, 1, 1.0f};
    struct clf__batched_matrix other = {clf__tensor_matrix(support_tensor(device, CLF__F32, 12, 4, NULL)),
                                        16};
    assert_ok(clf__gemm_batched(twelve, twelve, other, &shape));
    shape.batches = 4;
    assert_fails(clf__gemm_batched(twelve, other, other, &shape), CLF_BAD_ARGUMENT, "result");
    shape.batches = 3;
    shape.m = 2;
    assert_fails(clf__gemm_batched(other, twelve, other, &shape), CLF_BAD_ARGUMENT, "first operand");
    shape.m = 1;
    assert_fails(clf__gemm_batched(twelve, other, twelve, &shape), CLF_BAD_ARGUMENT, "second operand");
    shape.k = -1;
    assert_fails(clf__gemm_batched(twelve, twelve, other, &shape), CLF_BAD_ARGUMENT, "3 matrices");
    shape.k = 4;
    other.batch_stride = (size_t)1 << 31;
    assert_fails(clf__gemm_batched(twelve, twelve, other, &shape), CLF_UNSUPPORTED, "apart");
    for (int zero = 0; zero < 3; zero++) {
        struct clf__batched_shape empty = {
            zero == 0 ? 0 : 1, zero == 1 ? 0 : 1, zero == 2 ? 0 : 1, 4, 0, 1.0f};
        assert_ok(clf__gemm_batched(twelve, twelve, twelve, &empty));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shapes, support_teardown),
        cmocka_unit_test_teardown(heads_side_by_side, support_teardown),
        cmocka_unit_test_teardown(bad_calls_are_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
