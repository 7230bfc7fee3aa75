/* Softmax, its logarithm and one selected column of it, against double. */
#include "math/ops/softmax.h"

#include <math.h>

#include "cases/rows.h"
#include "reference/softmax.h"
#include "support/support.h"
#include "support/views.h"

enum { ROWS = 5 };

typedef clf_status forward_function(struct clf__tensor y, struct clf__tensor x);
typedef void reference_function(double *y, const float *x, int rows, int columns);

static void check(forward_function *forward, reference_function *reference, int columns, double tolerance)
{
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 30.0f);
    double *expected = support_array(count, sizeof *expected);
    reference(expected, x, ROWS, columns);
    FOR_EACH_VARIANT(device)
    {
        struct support_view in = support_view(device, ROWS, columns, x);
        struct support_view out = support_view(device, ROWS, columns, NULL);
        assert_ok(forward(out.tensor, in.tensor));
        assert_close(support_read(out.tensor), expected, count, tolerance);
        support_view_check(&out);
        assert_ok(forward(in.tensor, in.tensor));
        assert_close(support_read(in.tensor), expected, count, tolerance);
        support_view_check(&in);
    }
}

static void test_softmax(void **state)
{
    (void)state;
    for (int i = 0; i < row_edge_column_count; i++) {
        check(clf__softmax_forward, reference_softmax, row_edge_columns[i], 1e-6);
    }
}

static void test_log_softmax(void **state)
{
    (void)state;
    for (int i = 0; i < row_edge_column_count; i++) {
        check(clf__log_softmax_forward, reference_log_softmax, row_edge_columns[i], 1e-6);
    }
}

static void test_pick(void **state)
{
    (void)state;
    for (int i = 0; i < row_edge_column_count; i++) {
        int columns = row_edge_columns[i];
        struct support_random random = {(uint64_t)columns};
        size_t count = (size_t)ROWS * (size_t)columns;
        float *x = support_uniform_array(&random, count, 30.0f);
        double *all = support_array(count, sizeof *all), expected[ROWS];
        reference_log_softmax(all, x, ROWS, columns);
        int32_t targets[ROWS];
        for (int n = 0; n < ROWS; n++) {
            targets[n] = n == 0 ? 0 : n == 1 ? columns - 1 : support_integer(&random, columns);
            expected[n] = all[n * columns + targets[n]];
        }
        FOR_EACH_VARIANT(device)
        {
            struct support_view in = support_view(device, ROWS, columns, x);
            struct support_view picked = support_view(device, 1, ROWS, NULL);
            struct clf__tensor ids = support_tensor(device, CLF__I32, 1, ROWS, targets);
            assert_ok(clf__log_softmax_pick(picked.tensor, in.tensor, ids));
            assert_close(support_read(picked.tensor), expected, ROWS, 1e-6);
            support_view_check(&picked);
        }
    }
}

static void test_pick_guards_targets(void **state)
{
    (void)state;
    float x[2 * 3] = {1, 2, 3, 4, 5, 6};
    int32_t targets[2] = {-1, 3};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor picked = support_tensor(device, CLF__F32, 1, 2, NULL);
        assert_ok(clf__log_softmax_pick(picked, support_tensor(device, CLF__F32, 2, 3, x),
                                        support_tensor(device, CLF__I32, 1, 2, targets)));
        float *values = support_read(picked);
        assert_true(values[0] == -INFINITY && values[1] == -INFINITY);
    }
}

/* Row 0 all -inf, row 1 with one -inf, row 2 with one NaN, row 3 all NaN, row 4 huge. */
static void test_special_values(void **state)
{
    (void)state;
    enum { C = 19 };
    float x[ROWS * C];
    int32_t targets[ROWS] = {2, 2, 2, 2, 2};
    for (int i = 0; i < ROWS * C; i++) {
        int row = i / C;
        x[i] = row == 0 ? -INFINITY : row == 3 ? NAN : row == 4 ? (i % 2 ? 3e38f : -3e38f) : (float)i;
    }
    x[1 * C + 18] = -INFINITY;
    x[2 * C + 17] = NAN;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, ROWS, C, x);
        struct clf__tensor out = support_tensor(device, CLF__F32, ROWS, C, NULL);
        struct clf__tensor picked = support_tensor(device, CLF__F32, 1, ROWS, NULL);
        assert_ok(clf__softmax_forward(out, in));
        float *y = support_read(out);
        assert_ok(clf__log_softmax_forward(out, in));
        float *log_y = support_read(out);
        assert_ok(clf__log_softmax_pick(picked, in, support_tensor(device, CLF__I32, 1, ROWS, targets)));
        float *p = support_read(picked);
        for (int c = 0; c < C; c++) {
            assert_true(y[c] == 0.0f && log_y[c] == -INFINITY);
            assert_true(isnan(y[2 * C + c]) && isnan(log_y[2 * C + c]));
            assert_true(isnan(y[3 * C + c]) && isnan(log_y[3 * C + c]));
            assert_true(y[C + c] >= 0.0f && y[C + c] <= 1.0f);
            assert_true(y[4 * C + c] >= 0.0f && y[4 * C + c] <= 1.0f && !isnan(log_y[4 * C + c]));
        }
        assert_true(y[C + 18] == 0.0f && log_y[C + 18] == -INFINITY);
        assert_true(p[0] == -INFINITY && isnan(p[2]) && isnan(p[3]));
        assert_true(p[1] == log_y[C + 2] && p[4] == log_y[4 * C + 2]);
    }
}

/* A row has equal bits by itself and among others, also if groups process more than one row each. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    enum { C = 37 };
    int rows = support_small() ? 70 : 2500;
    struct support_random random = {7};
    float *x = support_uniform_array(&random, (size_t)rows * C, 5.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, rows, C, x);
        struct clf__tensor out = support_tensor(device, CLF__F32, rows, C, NULL);
        assert_ok(clf__softmax_forward(out, in));
        float *all = support_read(out);
        for (int n = 0; n < rows; n += rows / 7) {
            struct clf__tensor one = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__softmax_forward(one, clf__tensor_rows(in, n, 1)));
            assert_memory_equal(support_read(one), all + n * C, C * sizeof(float));
        }
        for (int i = 0; i < rows * C; i++) {
            assert_true(all[i] > 0.0f && all[i] < 1.0f);
        }
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor none = support_tensor(device, CLF__F32, 0, 8, NULL);
        assert_ok(clf__softmax_forward(none, none));
        assert_ok(clf__log_softmax_forward(none, none));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_softmax, support_teardown),
        cmocka_unit_test_teardown(test_log_softmax, support_teardown),
        cmocka_unit_test_teardown(test_pick, support_teardown),
        cmocka_unit_test_teardown(test_pick_guards_targets, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_no_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
