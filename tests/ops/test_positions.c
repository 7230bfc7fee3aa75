/* Adding rows of a position table, and the sinusoids. */
#include "math/ops/positions.h"

#include <math.h>

#include "support/finite_difference.h"
#include "support/id_groups.h"
#include "support/views.h"

static const int widths[] = {1, 15, 16, 17, 33, 64, 65, 129};
enum { WIDTHS = sizeof widths / sizeof *widths, P = 9, N = 8 };

static void check(struct clf_device *device, int columns)
{
    static const int32_t positions[N] = {0, 8, 3, 3, -1, P, INT32_MAX, INT32_MIN};
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)N * (size_t)columns;
    float *x = support_uniform_array(&random, count, 1.0f);
    float *table = support_uniform_array(&random, (size_t)P * (size_t)columns, 1.0f);
    float *expected = support_array(count, sizeof *expected);
    for (int n = 0; n < N; n++) {
        int is_row = positions[n] >= 0 && positions[n] < P;
        for (int k = 0; k < columns; k++) {
            int i = n * columns + k;
            expected[i] = is_row ? x[i] + table[positions[n] * columns + k] : x[i];
        }
    }
    struct support_view in = support_view(device, N, columns, x);
    struct support_view out = support_view(device, N, columns, NULL);
    struct clf__tensor rows = support_view(device, P, columns, table).tensor;
    struct clf__tensor where = support_tensor(device, CLF__I32, 1, N, positions);
    assert_ok(clf__positions_forward(out.tensor, in.tensor, rows, where));
    assert_memory_equal(support_read(out.tensor), expected, count * sizeof(float));
    support_view_check(&out);
    assert_ok(clf__positions_forward(in.tensor, in.tensor, rows, where));
    assert_memory_equal(support_read(in.tensor), expected, count * sizeof(float));
    support_view_check(&in);
}

static void test_positions(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < WIDTHS; i++) {
            check(device, widths[i]);
        }
    }
}

/* Rows 1 and 511 from numpy. */
static const struct {
    int width;
    enum clf__sinusoid_layout layout;
    enum clf__sinusoid_frequency frequency;
    float rows[2][5];
} sinusoids[] = {
    {4,
     CLF__SINUSOID_INTERLEAVED,
     CLF__SINUSOID_BY_WIDTH,
     {{0.841470985f, 0.540302306f, 0.00999983333f, 0.99995f},
      {0.881770401f, -0.471678874f, -0.921988678f, 0.387216837f}}},
    {4,
     CLF__SINUSOID_INTERLEAVED,
     CLF__SINUSOID_BY_LAST,
     {{0.841470985f, 0.540302306f, 9.99999998e-05f, 0.999999995f},
      {0.881770401f, -0.471678874f, 0.0510777641f, 0.998694679f}}},
    {4,
     CLF__SINUSOID_HALVES,
     CLF__SINUSOID_BY_WIDTH,
     {{0.841470985f, 0.00999983333f, 0.540302306f, 0.99995f},
      {0.881770401f, -0.921988678f, -0.471678874f, 0.387216837f}}},
    {4,
     CLF__SINUSOID_HALVES,
     CLF__SINUSOID_BY_LAST,
     {{0.841470985f, 9.99999998e-05f, 0.540302306f, 0.999999995f},
      {0.881770401f, 0.0510777641f, -0.471678874f, 0.998694679f}}},
    {5,
     CLF__SINUSOID_INTERLEAVED,
     CLF__SINUSOID_BY_WIDTH,
     {{0.841470985f, 0.540302306f, 0.0251162229f, 0.999684538f, 0.000630957303f},
      {0.881770401f, -0.471678874f, 0.266123293f, 0.963938999f, 0.316862031f}}},
    {5,
     CLF__SINUSOID_INTERLEAVED,
     CLF__SINUSOID_BY_LAST,
     {{0.841470985f, 0.540302306f, 0.00999983333f, 0.99995f, 9.99999998e-05f},
      {0.881770401f, -0.471678874f, -0.921988678f, 0.387216837f, 0.0510777641f}}},
    {5,
     CLF__SINUSOID_HALVES,
     CLF__SINUSOID_BY_WIDTH,
     {{0.841470985f, 0.0251162229f, 0.000630957303f, 0.540302306f, 0.999684538f},
      {0.881770401f, 0.266123293f, 0.316862031f, -0.471678874f, 0.963938999f}}},
    {5,
     CLF__SINUSOID_HALVES,
     CLF__SINUSOID_BY_LAST,
     {{0.841470985f, 9.99999998e-05f, 0.540302306f, 0.999999995f, 0},
      {0.881770401f, 0.0510777641f, -0.471678874f, 0.998694679f, 0}}},
};

static void test_sinusoids(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sinusoids / sizeof *sinusoids; i++) {
        int width = sinusoids[i].width;
        float *table = support_array((size_t)512 * (size_t)width, sizeof *table);
        clf__sinusoid_table(table, 0, 512, width, sinusoids[i].layout, sinusoids[i].frequency);
        float *part = support_array((size_t)4 * (size_t)width, sizeof *part);
        clf__sinusoid_table(part, 300, 4, width, sinusoids[i].layout, sinusoids[i].frequency);
        assert_memory_equal(part, table + 300 * width, (size_t)4 * (size_t)width * sizeof *part);
        for (int k = 0; k < width; k++) {
            assert_float_equal(table[width + k], sinusoids[i].rows[0][k], 1e-7f);
            assert_float_equal(table[511 * width + k], sinusoids[i].rows[1][k], 1e-7f);
        }
    }
}

/* Widths with a single pair, where BY_LAST would divide by zero. */
static void test_narrow_sinusoids(void **state)
{
    (void)state;
    for (int width = 1; width <= 2; width++) {
        for (int layout = 0; layout < 2; layout++) {
            for (int frequency = 0; frequency < 2; frequency++) {
                float table[3 * 2] = {NAN, NAN, NAN, NAN, NAN, NAN};
                clf__sinusoid_table(table, 0, 3, width, (enum clf__sinusoid_layout)layout,
                                    (enum clf__sinusoid_frequency)frequency);
                for (int p = 0; p < 3; p++) {
                    assert_float_equal(table[p * width], (float)sin(p), 1e-7f);
                    assert_true(width == 1 || fabs((double)table[p * width + 1] - cos(p)) < 1e-7);
                }
            }
        }
    }
}

enum { ROWS = 11 };
static const int32_t row_positions[ROWS] = {0, 1, 2, 3, 0, 1, 0, 8, P, INT32_MAX, 1};

/* Twice, to check that it accumulates. */
static void check_backward(struct clf_device *device, int columns)
{
    struct support_random random = {(uint64_t)columns};
    size_t size = (size_t)P * (size_t)columns;
    float *before = support_uniform_array(&random, size, 3.0f);
    float *dy = support_uniform_array(&random, (size_t)ROWS * (size_t)columns, 1.0f);
    double *expected = support_array(size, sizeof *expected);
    for (size_t i = 0; i < size; i++) {
        expected[i] = (double)before[i];
    }
    for (int n = 0; n < ROWS; n++) {
        for (int k = 0; k < columns && row_positions[n] < P; k++) {
            expected[row_positions[n] * columns + k] += 2.0 * (double)dy[n * columns + k];
        }
    }
    struct support_view dtable = support_view(device, P, columns, before);
    struct support_view grad = support_view(device, ROWS, columns, dy);
    struct clf__id_groups id_groups = support_group_ids(device, row_positions, ROWS);
    assert_ok(clf__positions_backward(dtable.tensor, grad.tensor, &id_groups));
    assert_ok(clf__positions_backward(dtable.tensor, grad.tensor, &id_groups));
    assert_close(support_read(dtable.tensor), expected, size, 1e-6);
    support_view_check(&dtable);
}

static void test_backward(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < WIDTHS; i++) {
            check_backward(device, widths[i]);
        }
    }
}

struct adding {
    struct clf__tensor y, x, table, positions;
};

static void forward(void *context)
{
    struct adding *a = context;
    assert_ok(clf__positions_forward(a->y, a->x, a->table, a->positions));
}

static void test_finite_differences(void **state)
{
    (void)state;
    enum { C = 17 };
    struct support_random random = {3};
    FOR_EACH_VARIANT(device)
    {
        struct adding a = {
            support_tensor(device, CLF__F32, ROWS, C, NULL),
            support_tensor(device, CLF__F32, ROWS, C, support_uniform_array(&random, ROWS * C, 1.0f)),
            support_tensor(device, CLF__F32, P, C, support_uniform_array(&random, P * C, 1.0f)),
            support_tensor(device, CLF__I32, 1, ROWS, row_positions)};
        const float *dy = support_uniform_array(&random, ROWS * C, 1.0f);
        struct clf__tensor dtable =
            support_tensor(device, CLF__F32, P, C, support_array(P * C, sizeof(float)));
        struct clf__id_groups id_groups = support_group_ids(device, row_positions, ROWS);
        assert_ok(clf__positions_backward(dtable, support_tensor(device, CLF__F32, ROWS, C, dy), &id_groups));
        struct support_function function = {forward, &a, a.y, dy};
        support_check_gradient(&function, a.table, support_read(dtable), 0.125, 1e-5);
        support_check_gradient(&function, a.x, dy, 0.125, 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_positions, support_teardown),
        cmocka_unit_test_teardown(test_backward, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
        cmocka_unit_test_teardown(test_sinusoids, support_teardown),
        cmocka_unit_test_teardown(test_narrow_sinusoids, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
