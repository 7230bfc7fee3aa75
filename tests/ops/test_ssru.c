/* The simpler simple recurrent unit against double: steps with changing parents, and whole sequences. */
#include "math/ops/ssru.h"

#include <math.h>
#include <string.h>

#include "cases/rows.h"
#include "reference/ssru.h"
#include "support/views.h"

static void check_step(struct clf_device *device, int columns, int in_place)
{
    enum { ROWS = 5, STATES = 7 };
    /* Parents shared, in other cache rows, none at position 0, and one out of range. */
    static const int32_t cache_rows[ROWS] = {6, 0, 2, 3, 5}, parents[ROWS] = {1, 1, 0, 4, STATES};
    static const int32_t positions[ROWS] = {3, 3, 1, 0, 2};
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *projected = support_uniform_array(&random, ROWS * 2 * width, 4.0f);
    float *residual = support_uniform_array(&random, ROWS * width, 1.0f);
    float *before = support_uniform_array(&random, STATES * width, 2.0f);
    double *expected = support_array(ROWS * width, sizeof *expected);
    double *kept = support_array(ROWS * width, sizeof *kept);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t k = 0; positions[r] > 0 && parents[r] < STATES && k < width; k++) {
            kept[r * width + k] = (double)before[(size_t)parents[r] * width + k];
        }
        reference_ssru(expected + r * width, kept + r * width, projected + r * 2 * width,
                       residual + r * width, columns);
    }
    struct support_view in = support_view(device, ROWS, 2 * columns, projected);
    struct support_view added = support_view(device, ROWS, columns, residual);
    struct support_view y = in_place ? added : support_view(device, ROWS, columns, NULL);
    struct support_view old = support_view(device, STATES, columns, before);
    struct support_view next = support_view(device, STATES, columns, NULL);
    assert_ok(clf__ssru_step(y.tensor, in.tensor, added.tensor, next.tensor, old.tensor,
                             support_tensor(device, CLF__I32, 1, ROWS, cache_rows),
                             support_tensor(device, CLF__I32, 1, ROWS, parents),
                             support_tensor(device, CLF__I32, 1, ROWS, positions)));
    assert_close(support_read(y.tensor), expected, ROWS * width, 1e-6);
    const float *states = support_read(next.tensor);
    for (size_t r = 0; r < ROWS; r++) {
        assert_close(states + (size_t)cache_rows[r] * width, kept + r * width, width, 1e-6);
    }
    assert_true(isnan(states[width])); /* row 1 is nobody's */
    assert_memory_equal(support_read(old.tensor), before, STATES * width * sizeof *before);
    support_view_check(&y);
    support_view_check(&next);
}

static void test_step(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check_step(device, row_edge_columns[i], i % 2);
        }
    }
}

/* A cache row out of range is not written; the row's result is valid. */
static void test_no_place(void **state)
{
    (void)state;
    enum { WIDTH = 17 };
    static const int32_t outside[2] = {2, -1}, zeros[2] = {0, 0};
    float projected[2 * 2 * WIDTH] = {0}, residual[2 * WIDTH] = {0};
    projected[WIDTH] = 2.0f; /* z of the first column; f is 1/2 */
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor y = support_tensor(device, CLF__F32, 2, WIDTH, NULL);
        struct clf__tensor next = support_tensor(device, CLF__F32, 2, WIDTH, NULL);
        assert_ok(clf__ssru_step(
            y, support_tensor(device, CLF__F32, 2, 2 * WIDTH, projected),
            support_tensor(device, CLF__F32, 2, WIDTH, residual), next,
            support_tensor(device, CLF__F32, 2, WIDTH, NULL), support_tensor(device, CLF__I32, 1, 2, outside),
            support_tensor(device, CLF__I32, 1, 2, zeros), support_tensor(device, CLF__I32, 1, 2, zeros)));
        assert_float_equal(support_read(y)[0], 1.0f, 0.0f);
        const float *states = support_read(next);
        for (int i = 0; i < 2 * WIDTH; i++) {
            assert_true(isnan(states[i]));
        }
    }
}

static void check_forward(struct clf_device *device, int columns)
{
    enum { SEQUENCES = 4, ROWS = 9 };
    /* Adjacent ranges, one of them empty; the last row belongs to none. */
    static const int32_t ranges[SEQUENCES * 4] = {0, 3, 0, 3, 3, 0, 3, 0, 3, 4, 3, 4, 7, 1, 7, 1};
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *projected = support_uniform_array(&random, ROWS * 2 * width, 4.0f);
    float *residual = support_uniform_array(&random, ROWS * width, 1.0f);
    double *expected = support_array(ROWS * width, sizeof *expected);
    for (int b = 0; b < SEQUENCES; b++) {
        double *c = support_array(width, sizeof *c);
        for (int n = ranges[4 * b]; n < ranges[4 * b] + ranges[4 * b + 1]; n++) {
            size_t row = (size_t)n * width;
            reference_ssru(expected + row, c, projected + 2 * row, residual + row, columns);
        }
    }
    struct support_view in = support_view(device, ROWS, 2 * columns, projected);
    struct support_view added = support_view(device, ROWS, columns, residual);
    struct support_view y = support_view(device, ROWS, columns, NULL);
    assert_ok(clf__ssru_forward(y.tensor, in.tensor, added.tensor,
                                support_tensor(device, CLF__I32, SEQUENCES, 4, ranges)));
    const float *actual = support_read(y.tensor);
    assert_close(actual, expected, (ROWS - 1) * width, 1e-6);
    assert_true(isnan(actual[(ROWS - 1) * width]));
    support_view_check(&y);
}

static void test_forward(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check_forward(device, row_edge_columns[i]);
        }
    }
}

/* Large gates saturate; NaN propagates. */
static void test_extremes(void **state)
{
    (void)state;
    enum { WIDTH = 20 };
    static const int32_t zero[1] = {0}, one[1] = {1};
    float projected[2 * WIDTH], residual[WIDTH] = {0}, before[WIDTH];
    for (int k = 0; k < WIDTH; k++) {
        projected[k] = k % 2 == 0 ? 1000.0f : -1000.0f;
        projected[WIDTH + k] = 3.0f;
        before[k] = 5.0f;
    }
    projected[WIDTH + 1] = -3.0f;
    projected[WIDTH - 1] = NAN;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor y = support_tensor(device, CLF__F32, 1, WIDTH, NULL);
        assert_ok(clf__ssru_step(
            y, support_tensor(device, CLF__F32, 1, 2 * WIDTH, projected),
            support_tensor(device, CLF__F32, 1, WIDTH, residual),
            support_tensor(device, CLF__F32, 1, WIDTH, NULL),
            support_tensor(device, CLF__F32, 1, WIDTH, before), support_tensor(device, CLF__I32, 1, 1, zero),
            support_tensor(device, CLF__I32, 1, 1, zero), support_tensor(device, CLF__I32, 1, 1, one)));
        const float *values = support_read(y);
        assert_float_equal(values[0], 5.0f, 0.0f);
        assert_float_equal(values[1], 0.0f, 0.0f);
        assert_float_equal(values[3], 3.0f, 0.0f);
        assert_true(isnan(values[WIDTH - 1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_step, support_teardown),
        cmocka_unit_test_teardown(test_no_place, support_teardown),
        cmocka_unit_test_teardown(test_forward, support_teardown),
        cmocka_unit_test_teardown(test_extremes, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
