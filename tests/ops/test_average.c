/* Average attention against double: steps with changing parents, whole sequences, and gates. */
#include "math/ops/average.h"

#include <math.h>
#include <string.h>

#include "cases/rows.h"
#include "reference/average.h"
#include "support/views.h"

static void check_step(struct clf_device *device, int columns, int in_place)
{
    enum { ROWS = 5, STATES = 7 };
    /* Parents shared, in other cache rows, none at position 0, and one out of range. */
    static const int32_t cache_rows[ROWS] = {6, 0, 2, 3, 5}, parents[ROWS] = {1, 1, 0, 4, STATES};
    static const int32_t positions[ROWS] = {3, 3, 1, 0, 2};
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *x = support_uniform_array(&random, ROWS * width, 4.0f);
    float *before = support_uniform_array(&random, STATES * width, 2.0f);
    double *expected = support_array(ROWS * width, sizeof *expected);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t k = 0; positions[r] > 0 && parents[r] < STATES && k < width; k++) {
            expected[r * width + k] = (double)before[(size_t)parents[r] * width + k];
        }
        reference_average(expected + r * width, x + r * width, positions[r], columns);
    }
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view m = in_place ? in : support_view(device, ROWS, columns, NULL);
    struct support_view old = support_view(device, STATES, columns, before);
    struct support_view next = support_view(device, STATES, columns, NULL);
    assert_ok(clf__average_step(m.tensor, in.tensor, next.tensor, old.tensor,
                                support_tensor(device, CLF__I32, 1, ROWS, cache_rows),
                                support_tensor(device, CLF__I32, 1, ROWS, parents),
                                support_tensor(device, CLF__I32, 1, ROWS, positions)));
    const float *means = support_read(m.tensor), *states = support_read(next.tensor);
    assert_close(means, expected, ROWS * width, 1e-6);
    for (size_t r = 0; r < ROWS; r++) {
        assert_memory_equal(states + (size_t)cache_rows[r] * width, means + r * width, width * sizeof *means);
    }
    assert_true(isnan(states[width])); /* row 1 is nobody's */
    assert_memory_equal(support_read(old.tensor), before, STATES * width * sizeof *before);
    support_view_check(&m);
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
    float x[2 * WIDTH] = {0};
    x[WIDTH] = 2.0f;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor m = support_tensor(device, CLF__F32, 2, WIDTH, NULL);
        struct clf__tensor next = support_tensor(device, CLF__F32, 2, WIDTH, NULL);
        assert_ok(clf__average_step(
            m, support_tensor(device, CLF__F32, 2, WIDTH, x), next,
            support_tensor(device, CLF__F32, 2, WIDTH, NULL), support_tensor(device, CLF__I32, 1, 2, outside),
            support_tensor(device, CLF__I32, 1, 2, zeros), support_tensor(device, CLF__I32, 1, 2, zeros)));
        assert_memory_equal(support_read(m), x, sizeof x);
        const float *states = support_read(next);
        for (int i = 0; i < 2 * WIDTH; i++) {
            assert_true(isnan(states[i]));
        }
    }
}

enum { SEQUENCES = 4, ROWS = 9 };
/* Adjacent ranges, one of them empty; the last row belongs to none. */
static const int32_t ranges[SEQUENCES * 4] = {0, 3, 0, 3, 3, 0, 3, 0, 3, 4, 3, 4, 7, 1, 7, 1};

static void check_forward(struct clf_device *device, int columns)
{
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *x = support_uniform_array(&random, ROWS * width, 4.0f);
    double *expected = support_array(ROWS * width, sizeof *expected);
    for (int b = 0; b < SEQUENCES; b++) {
        for (int t = 0; t < ranges[4 * b + 1]; t++) {
            size_t row = (size_t)(ranges[4 * b] + t) * width;
            if (t > 0) {
                memcpy(expected + row, expected + row - width, width * sizeof *expected);
            }
            reference_average(expected + row, x + row, t, columns);
        }
    }
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view m = support_view(device, ROWS, columns, NULL);
    assert_ok(
        clf__average_forward(m.tensor, in.tensor, support_tensor(device, CLF__I32, SEQUENCES, 4, ranges)));
    const float *actual = support_read(m.tensor);
    assert_close(actual, expected, (ROWS - 1) * width, 1e-6);
    assert_true(isnan(actual[(ROWS - 1) * width]));
    support_view_check(&m);
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

/* A sequence step by step has the bits of the whole. */
static void test_same_bits(void **state)
{
    (void)state;
    enum { WIDTH = 37, STEPS = 23 };
    static const int32_t here[1] = {0}, whole[4] = {0, STEPS, 0, STEPS};
    struct support_random random = {7};
    float *x = support_uniform_array(&random, STEPS * WIDTH, 3.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, STEPS, WIDTH, x);
        struct clf__tensor all = support_tensor(device, CLF__F32, STEPS, WIDTH, NULL);
        struct clf__tensor steps = support_tensor(device, CLF__F32, STEPS, WIDTH, NULL);
        struct clf__tensor row = support_tensor(device, CLF__I32, 1, 1, here);
        struct clf__tensor states[2] = {support_tensor(device, CLF__F32, 1, WIDTH, NULL),
                                        support_tensor(device, CLF__F32, 1, WIDTH, NULL)};
        assert_ok(clf__average_forward(all, in, support_tensor(device, CLF__I32, 1, 4, whole)));
        for (int t = 0; t < STEPS; t++) {
            int32_t position[1] = {t};
            assert_ok(clf__average_step(clf__tensor_rows(steps, t, 1), clf__tensor_rows(in, t, 1),
                                        states[t % 2], states[(t + 1) % 2], row, row,
                                        support_tensor(device, CLF__I32, 1, 1, position)));
        }
        assert_memory_equal(support_read(steps), support_read(all), STEPS * WIDTH * sizeof *x);
    }
}

/* y is a separate tensor, or one of the operands. */
static void check_gate(struct clf_device *device, int columns, int alias)
{
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *values[3], *gates = support_uniform_array(&random, ROWS * 2 * width, 4.0f);
    double *expected = support_array(ROWS * width, sizeof *expected);
    struct support_view views[4]; /* x, h, residual, y */
    for (int i = 0; i < 3; i++) {
        values[i] = support_uniform_array(&random, ROWS * width, 2.0f);
        views[i] = support_view(device, ROWS, columns, values[i]);
    }
    views[3] = support_view(device, ROWS, columns, NULL);
    for (size_t r = 0; r < ROWS; r++) {
        reference_average_gate(expected + r * width, values[0] + r * width, values[1] + r * width,
                               gates + 2 * r * width, values[2] + r * width, columns);
    }
    struct support_view between = support_view(device, ROWS, 2 * columns, gates), y = views[alias];
    assert_ok(clf__average_gate(y.tensor, views[0].tensor, views[1].tensor, between.tensor, views[2].tensor));
    assert_close(support_read(y.tensor), expected, ROWS * width, 1e-6);
    support_view_check(&y);
}

static void test_gate(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check_gate(device, row_edge_columns[i], i % 4);
        }
    }
}

/* Large gates saturate; NaN propagates. */
static void test_extremes(void **state)
{
    (void)state;
    enum { WIDTH = 20 };
    float gates[2 * WIDTH], x[WIDTH], h[WIDTH], residual[WIDTH] = {0};
    for (int k = 0; k < WIDTH; k++) {
        gates[k] = k % 2 == 0 ? 1000.0f : -1000.0f;
        gates[WIDTH + k] = -gates[k];
        x[k] = 3.0f;
        h[k] = 5.0f;
    }
    h[WIDTH - 1] = NAN;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor y = support_tensor(device, CLF__F32, 1, WIDTH, NULL);
        assert_ok(clf__average_gate(y, support_tensor(device, CLF__F32, 1, WIDTH, x),
                                    support_tensor(device, CLF__F32, 1, WIDTH, h),
                                    support_tensor(device, CLF__F32, 1, 2 * WIDTH, gates),
                                    support_tensor(device, CLF__F32, 1, WIDTH, residual)));
        const float *values = support_read(y);
        assert_float_equal(values[0], 3.0f, 0.0f);
        assert_float_equal(values[1], 5.0f, 0.0f);
        assert_true(isnan(values[WIDTH - 1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_step, support_teardown),
        cmocka_unit_test_teardown(test_no_place, support_teardown),
        cmocka_unit_test_teardown(test_forward, support_teardown),
        cmocka_unit_test_teardown(test_same_bits, support_teardown),
        cmocka_unit_test_teardown(test_gate, support_teardown),
        cmocka_unit_test_teardown(test_extremes, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
