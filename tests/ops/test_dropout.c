/* Dropout against its reference mask, and the mask's statistics. */
#include "math/ops/dropout.h"

#include <math.h>

#include "cases/rows.h"
#include "reference/philox.h"
#include "support/finite_difference.h"
#include "support/views.h"

enum { ROWS = 5 };

static const struct clf__dropout some = {.rate = 0.3f, .seed = 0x123456789abcdef0ULL, .step = 77, .site = 5};

/* y = residual + x * mask in double */
static double *expect(const float *x, const float *residual, int columns, const struct clf__dropout *dropout)
{
    double *y = support_array((size_t)ROWS * (size_t)columns, sizeof *y);
    for (int i = 0; i < ROWS * columns; i++) {
        double factor = reference_dropout_factor((uint32_t)(i / columns), (uint32_t)(i % columns),
                                                 dropout->seed, dropout->step, dropout->site, dropout->rate);
        y[i] = (residual ? (double)residual[i] : 0.0) + (double)x[i] * factor;
    }
    return y;
}

static void check(struct clf_device *device, int columns, const struct clf__dropout *dropout)
{
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 2.0f);
    float *residual = support_uniform_array(&random, count, 1.0f);
    const double *sums = expect(x, residual, columns, dropout);
    const double *alone = expect(x, NULL, columns, dropout);
    const struct clf__tensor none = {.buffer = NULL};

    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view out = support_view(device, ROWS, columns, NULL);
    struct support_view added = support_view(device, ROWS, columns, residual);
    assert_ok(clf__dropout_forward(out.tensor, in.tensor, added.tensor, dropout));
    assert_close(support_read(out.tensor), sums, count, 1e-7);
    assert_ok(clf__dropout_forward(added.tensor, in.tensor, added.tensor, dropout));
    assert_close(support_read(added.tensor), sums, count, 1e-7);
    support_view_check(&added);
    assert_ok(clf__dropout_forward(out.tensor, in.tensor, none, dropout));
    assert_close(support_read(out.tensor), alone, count, 1e-7);
    support_view_check(&out);
    assert_ok(clf__dropout_forward(in.tensor, in.tensor, none, dropout));
    assert_close(support_read(in.tensor), alone, count, 1e-7);
    support_view_check(&in);
}

static void test_mask(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (support_small() ? 11 : row_edge_column_count); i++) {
            check(device, row_edge_columns[i], &some);
        }
    }
}

/* Rates of none and almost all, and every word of counter and key with its highest bit set. */
static void test_extremes(void **state)
{
    (void)state;
    const struct clf__dropout dropouts[] = {
        CLF__NO_DROPOUT,
        {.rate = 1.0f - 0x1p-24f, .seed = 1, .step = 0, .site = 0},
        {.rate = 0x1p-31f, .seed = 1, .step = 0, .site = 0},
        {.rate = 0.5f, .seed = UINT64_MAX, .step = UINT32_MAX, .site = 0x80000000u}};
    FOR_EACH_VARIANT(device)
    {
        for (size_t i = 0; i < sizeof dropouts / sizeof *dropouts; i++) {
            check(device, 65, &dropouts[i]);
        }
    }
}

/* The backward pass drops the same elements. */
static void test_backward(void **state)
{
    (void)state;
    enum { C = 333 };
    struct support_random random = {1};
    const struct clf__tensor none = {.buffer = NULL};
    float *ones = support_array(ROWS * C, sizeof *ones);
    for (int i = 0; i < ROWS * C; i++) {
        ones[i] = 1.0f;
    }
    FOR_EACH_VARIANT(device)
    {
        struct support_view dy = support_view(device, ROWS, C, ones);
        struct support_view dx = support_view(device, ROWS, C, NULL);
        struct clf__tensor x =
            support_tensor(device, CLF__F32, ROWS, C, support_uniform_array(&random, ROWS * C, 1.0f));
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, C, NULL);
        assert_ok(clf__dropout_forward(y, x, none, &some));
        assert_ok(clf__dropout_backward(dx.tensor, dy.tensor, &some));
        const float *forward = support_read(y), *backward = support_read(dx.tensor), *in = support_read(x);
        for (int i = 0; i < ROWS * C; i++) {
            assert_true(forward[i] == in[i] * backward[i]);
        }
        support_view_check(&dx);
        assert_ok(clf__dropout_backward(dy.tensor, dy.tensor, &some));
        assert_memory_equal(support_read(dy.tensor), backward, ROWS * C * sizeof *backward);
        support_view_check(&dy);
    }
}

struct dropping {
    struct clf__tensor y, x, residual;
};

static void forward(void *context)
{
    struct dropping *d = context;
    assert_ok(clf__dropout_forward(d->y, d->x, d->residual, &some));
}

static void test_finite_differences(void **state)
{
    (void)state;
    enum { R = 3, C = 19 };
    struct support_random random = {2};
    FOR_EACH_VARIANT(device)
    {
        struct dropping d = {
            support_tensor(device, CLF__F32, R, C, NULL),
            support_tensor(device, CLF__F32, R, C, support_uniform_array(&random, R * C, 1.0f)),
            support_tensor(device, CLF__F32, R, C, support_uniform_array(&random, R * C, 1.0f))};
        const float *dy = support_uniform_array(&random, R * C, 1.0f);
        struct clf__tensor dx = support_tensor(device, CLF__F32, R, C, NULL);
        assert_ok(clf__dropout_backward(dx, support_tensor(device, CLF__F32, R, C, dy), &some));
        struct support_function function = {forward, &d, d.y, dy};
        support_check_gradient(&function, d.x, support_read(dx), 0.125, 1e-5);
        support_check_gradient(&function, d.residual, dy, 0.125, 1e-5);
    }
}

/* A mask of dropped elements, (rows, columns). */
static float *mask_of(struct clf_device *device, int rows, int columns, struct clf__dropout dropout)
{
    float *ones = support_array((size_t)rows * (size_t)columns, sizeof *ones);
    for (int i = 0; i < rows * columns; i++) {
        ones[i] = 1.0f;
    }
    struct clf__tensor y = support_tensor(device, CLF__F32, rows, columns, ones);
    assert_ok(clf__dropout_backward(y, y, &dropout));
    float *mask = support_read(y);
    for (int i = 0; i < rows * columns; i++) {
        mask[i] = mask[i] == 0.0f;
    }
    return mask;
}

/* Fails unless a and b (count flags) are both set as often as independent ones of this rate, within four
 * standard deviations. */
static void assert_independent(const float *a, const float *b, int count, double rate)
{
    double both = 0.0, deviation = sqrt(count) * rate * (1.0 - rate);
    for (int i = 0; i < count; i++) {
        both += ((double)a[i] - rate) * ((double)b[i] - rate);
    }
    assert_true(fabs(both) <= 4.0 * deviation);
}

static void test_statistics(void **state)
{
    (void)state;
    int rows = support_small() ? 10 : 1000, columns = support_small() ? 100 : 1000, count = rows * columns;
    FOR_EACH_VARIANT(device)
    {
        double rate = (double)some.rate;
        const float *mask = mask_of(device, rows, columns, some);
        double hidden = 0.0;
        for (int i = 0; i < count; i++) {
            hidden += (double)mask[i];
        }
        assert_true(fabs(hidden - count * rate) <= 4.0 * sqrt(count * rate * (1.0 - rate)));
        assert_independent(mask, mask + columns, count - columns, rate); /* the row below */
        for (int step = 1; step <= 4; step++) {                          /* columns further on */
            assert_independent(mask, mask + step, count - step, rate);
        }
        struct clf__dropout other = some;
        other.step++;
        assert_independent(mask, mask_of(device, rows, columns, other), count, rate);
        other = some;
        other.site++;
        assert_independent(mask, mask_of(device, rows, columns, other), count, rate);
        other = some;
        other.seed++;
        assert_independent(mask, mask_of(device, rows, columns, other), count, rate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_mask, support_teardown),
        cmocka_unit_test_teardown(test_extremes, support_teardown),
        cmocka_unit_test_teardown(test_backward, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
        cmocka_unit_test_teardown(test_statistics, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
