/* The gradient of a bias against double. */
#include "math/ops/bias.h"

#include "cases/rows.h"
#include "support/finite_difference.h"
#include "support/views.h"

static struct clf__tensor scratch_for(struct clf_device *device, int rows, int columns)
{
    return support_tensor(device, CLF__F32, 1, (int)clf__bias_backward_scratch(rows, columns), NULL);
}

/* Twice, to check that it accumulates. */
static void check(struct clf_device *device, int rows, int columns)
{
    const float scale = 0.75f;
    struct support_random random = {(uint64_t)columns};
    float *dy = support_uniform_array(&random, (size_t)rows * (size_t)columns, 1.0f);
    float *before = support_uniform_array(&random, (size_t)columns, 10.0f);
    double *expected = support_array((size_t)columns, sizeof *expected);
    for (int c = 0; c < columns; c++) {
        for (int n = 0; n < rows; n++) {
            expected[c] += 2.0 * (double)scale * (double)dy[n * columns + c];
        }
        expected[c] += (double)before[c];
    }
    struct support_view dbias = support_view(device, 1, columns, before);
    struct support_view in = support_view(device, rows, columns, dy);
    struct clf__tensor scratch = scratch_for(device, rows, columns);
    assert_ok(clf__bias_backward(dbias.tensor, in.tensor, scale, scratch));
    assert_ok(clf__bias_backward(dbias.tensor, in.tensor, scale, scratch));
    assert_close(support_read(dbias.tensor), expected, (size_t)columns, 1e-6);
    support_view_check(&dbias);
}

static void test_columns(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check(device, 5, row_edge_columns[i]);
        }
        check(device, 33, 2049); /* several blocks of columns */
    }
}

/* Around chunks, and enough rows for chunks above the minimum. */
static void test_rows(void **state)
{
    (void)state;
    static const int rows[] = {1, 31, 32, 33, 64, 65, 257, 289, 8191, 8193};
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (support_small() ? 6 : 10); i++) {
            check(device, rows[i], 17);
        }
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    static const float before[3] = {1, 2, 3};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor dbias = support_tensor(device, CLF__F32, 1, 3, before);
        struct clf__tensor dy = support_tensor(device, CLF__F32, 0, 3, NULL);
        assert_int_equal(clf__bias_backward_scratch(0, 3), 0);
        assert_ok(clf__bias_backward(dbias, dy, 1.0f, support_tensor(device, CLF__F32, 1, 1, NULL)));
        assert_memory_equal(support_read(dbias), before, sizeof before);
    }
}

/* y = x Wᵀ + bias, as in a GEMM epilogue */
struct biased {
    struct clf__tensor y, x, bias;
    struct clf__weight *weight;
};

static void forward(void *context)
{
    struct biased *b = context;
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.bias = b->bias.buffer;
    assert_ok(clf__gemm_weight(clf__tensor_matrix(b->y), clf__tensor_matrix(b->x), b->x.rows, b->weight,
                               &epilogue));
}

static void test_finite_differences(void **state)
{
    (void)state;
    enum { R = 7, C = 19, K = 2 };
    struct support_random random = {2};
    FOR_EACH_VARIANT(device)
    {
        struct biased b = {
            support_tensor(device, CLF__F32, R, C, NULL),
            support_tensor(device, CLF__F32, R, K, support_uniform_array(&random, R * K, 1.0f)),
            support_tensor(device, CLF__F32, 1, C, support_uniform_array(&random, C, 1.0f)), NULL};
        struct clf__weight_part part = {support_uniform_array(&random, C * K, 1.0f), C};
        assert_ok(
            clf__weight_create(&b.weight, device,
                               &(struct clf__weight_source){
                                   .parts = &part, .part_count = 1, .inputs = K, .what = "a test's weight"}));
        const float *dy = support_uniform_array(&random, R * C, 1.0f);
        struct clf__tensor dbias = support_tensor(device, CLF__F32, 1, C, support_array(C, sizeof(float)));
        assert_ok(clf__bias_backward(dbias, support_tensor(device, CLF__F32, R, C, dy), 1.0f,
                                     scratch_for(device, R, C)));
        struct support_function function = {forward, &b, b.y, dy};
        support_check_gradient(&function, b.bias, support_read(dbias), 0.125, 1e-5);
        clf__weight_free(b.weight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_columns, support_teardown),
        cmocka_unit_test_teardown(test_rows, support_teardown),
        cmocka_unit_test_teardown(test_no_rows, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
