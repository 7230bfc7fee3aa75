/* The loss and its gradient against double. */
#include "math/ops/cross_entropy.h"

#include <math.h>

#include "cases/rows.h"
#include "reference/cross_entropy.h"
#include "support/finite_difference.h"
#include "support/views.h"

enum { ROWS = 6 };
static const float scale = 0.125f;

/* Label smoothing of each system, and shares that do not add up to 1. */
static int smoothing_of(struct clf__smoothing *out, int which, int columns)
{
    const struct clf__smoothing all[] = {
        {0.0f, 0.0f, -1},
        {0.1f, 0.1f / (float)(columns > 1 ? columns - 1 : 1), -1},
        {0.1f, 0.1f / (float)(columns > 2 ? columns - 2 : 1), columns / 3},
        {0.3f, 0.5f, columns - 1},
        {0.1f, 0.01f, columns + 5},
    };
    if (which >= (int)(sizeof all / sizeof *all)) {
        return 0;
    }
    *out = all[which];
    return 1;
}

/* Losses are compared one by one, as some are infinite. */
static void assert_losses(const float *actual, const double *expected, int rows)
{
    for (int i = 0; i < 2 * rows; i++) {
        if (isinf(expected[i])) {
            assert_true(isinf(actual[i]) && actual[i] > 0.0f);
        } else {
            assert_float_equal(actual[i], (float)expected[i], (float)(2e-6 * (1.0 + fabs(expected[i]))));
        }
    }
}

/* With a separate gradient, without one, and with the gradient in place of the logits. */
static void check(struct clf_device *device, const float *x, int columns, const int32_t *labels,
                  const struct clf__smoothing *smoothing)
{
    size_t count = (size_t)ROWS * (size_t)columns;
    double losses[2 * ROWS], *dx = support_array(count, sizeof *dx);
    reference_cross_entropy(losses, dx, x, labels, ROWS, columns, smoothing, (double)scale);
    const struct clf__tensor none = {.buffer = NULL};
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view out = support_view(device, ROWS, columns, NULL);
    struct clf__tensor targets = support_tensor(device, CLF__I32, 1, ROWS, labels);
    for (int i = 0; i < 3; i++) {
        struct support_view loss = support_view(device, ROWS, 2, NULL);
        struct clf__tensor gradients[] = {out.tensor, none, in.tensor};
        assert_ok(clf__cross_entropy(loss.tensor, gradients[i], in.tensor, targets, smoothing, scale));
        assert_losses(support_read(loss.tensor), losses, ROWS);
        support_view_check(&loss);
        if (i != 1) {
            assert_close(support_read(gradients[i]), dx, count, 2e-6);
        }
    }
    support_view_check(&out);
    support_view_check(&in);
}

static void test_columns(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (support_small() ? 11 : row_edge_column_count); i += support_small() ? 3 : 1) {
            int columns = row_edge_columns[i];
            /* the first, the last and the hidden class; ignored rows */
            const int32_t labels[ROWS] = {0, columns - 1, columns / 3, -1, columns, columns / 2};
            struct support_random random = {(uint64_t)columns};
            struct clf__smoothing smoothing;
            float *x = support_uniform_array(&random, (size_t)(ROWS * columns), 8.0f);
            for (int s = 0; smoothing_of(&smoothing, s, columns); s++) {
                check(device, x, columns, labels, &smoothing);
            }
            support_free_all();
        }
    }
}

/* A realistic vocabulary, with logits far from zero and far apart. */
static void test_vocabulary(void **state)
{
    (void)state;
    int columns = support_small() ? 301 : 32003;
    const int32_t labels[ROWS] = {0, 17, columns - 1, 700, 2, INT32_MIN};
    FOR_EACH_VARIANT(device)
    {
        for (int far = 0; far < 2; far++) {
            struct support_random random = {7};
            struct clf__smoothing smoothing;
            smoothing_of(&smoothing, 1 + far, columns);
            float *x = support_uniform_array(&random, (size_t)ROWS * (size_t)columns, far ? 100.0f : 3.0f);
            for (int i = 0; far && i < ROWS * columns; i++) {
                x[i] -= 1000.0f;
            }
            check(device, x, columns, labels, &smoothing);
        }
    }
}

/* Classes with -inf: the hidden one costs nothing, others give an infinite loss if they have a share; a whole
 * row of them gives no NaN. */
static void test_minus_infinity(void **state)
{
    (void)state;
    enum { C = 37 };
    const int32_t labels[ROWS] = {0, 1, 2, 3, 4, 5};
    FOR_EACH_VARIANT(device)
    {
        for (int s = 0; s < 3; s++) {
            struct support_random random = {9};
            struct clf__smoothing smoothing;
            smoothing_of(&smoothing, s, C);
            float *x = support_uniform_array(&random, ROWS * C, 3.0f);
            x[20] = -INFINITY;                               /* a class with a share */
            x[C + 1] = -INFINITY;                            /* a label */
            x[2 * C + C / 3] = x[3 * C + C / 3] = -INFINITY; /* the hidden class of one arrangement */
            for (int c = 0; c < C; c++) {
                x[4 * C + c] = -INFINITY;
            }
            check(device, x, C, labels, &smoothing);
        }
    }
}

/* NaN of a broken model is detected. */
static void test_nan(void **state)
{
    (void)state;
    enum { C = 33 };
    const int32_t labels[1] = {3};
    float x[C] = {0};
    x[20] = NAN;
    const struct clf__smoothing smoothing = {0.0f, 0.0f, -1};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor losses = support_tensor(device, CLF__F32, 1, 2, x);
        struct clf__tensor in = support_tensor(device, CLF__F32, 1, C, x);
        assert_ok(clf__cross_entropy(losses, in, in, support_tensor(device, CLF__I32, 1, 1, labels),
                                     &smoothing, 1.0f));
        float *loss = support_read(losses), *dx = support_read(in);
        assert_true(isnan(loss[0]) && isnan(loss[1]) && isnan(dx[0]));
    }
}

/* A row has equal bits by itself and among others, also if groups process more than one row each. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    enum { C = 37 };
    int rows = support_small() ? 14 : 2500;
    struct support_random random = {7};
    float *x = support_uniform_array(&random, (size_t)rows * C, 5.0f);
    int32_t *labels = support_array((size_t)rows, sizeof *labels);
    for (int r = 0; r < rows; r++) {
        labels[r] = support_integer(&random, C + 1) - 1;
    }
    const struct clf__smoothing smoothing = {0.1f, 0.1f / (C - 1), -1};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, rows, C, x);
        struct clf__tensor targets = support_tensor(device, CLF__I32, 1, rows, labels);
        struct clf__tensor losses = support_tensor(device, CLF__F32, rows, 2, NULL);
        struct clf__tensor out = support_tensor(device, CLF__F32, rows, C, NULL);
        assert_ok(clf__cross_entropy(losses, out, in, targets, &smoothing, scale));
        float *all = support_read(out), *all_losses = support_read(losses);
        for (int r = 0; r < rows; r += rows / 7) {
            struct clf__tensor loss = support_tensor(device, CLF__F32, 1, 2, NULL);
            struct clf__tensor one = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__cross_entropy(loss, one, clf__tensor_rows(in, r, 1),
                                         clf__tensor_columns(targets, r, 1), &smoothing, scale));
            assert_memory_equal(support_read(one), all + r * C, C * sizeof *all);
            assert_memory_equal(support_read(loss), all_losses + 2 * r, 2 * sizeof *all);
        }
    }
}

struct judging {
    struct clf__tensor losses, logits, labels;
    struct clf__smoothing smoothing;
};

static void forward(void *context)
{
    struct judging *j = context;
    const struct clf__tensor none = {.buffer = NULL};
    assert_ok(clf__cross_entropy(j->losses, none, j->logits, j->labels, &j->smoothing, scale));
}

static void test_finite_differences(void **state)
{
    (void)state;
    enum { R = 3, C = 19 };
    static const int32_t labels[R] = {18, -1, 6};
    static const float dlosses[2 * R] = {0.125f, 0, 0.125f, 0, 0.125f, 0};
    struct support_random random = {3};
    FOR_EACH_VARIANT(device)
    {
        struct judging j = {
            .losses = support_tensor(device, CLF__F32, R, 2, NULL),
            .logits = support_tensor(device, CLF__F32, R, C, support_uniform_array(&random, R * C, 3.0f)),
            .labels = support_tensor(device, CLF__I32, 1, R, labels)};
        for (int s = 0; smoothing_of(&j.smoothing, s, C); s++) {
            struct clf__tensor dx = support_tensor(device, CLF__F32, R, C, NULL);
            assert_ok(clf__cross_entropy(j.losses, dx, j.logits, j.labels, &j.smoothing, scale));
            struct support_function function = {forward, &j, j.losses, dlosses};
            support_check_gradient(&function, j.logits, support_read(dx), 0.0625, 1e-4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_columns, support_teardown),
        cmocka_unit_test_teardown(test_vocabulary, support_teardown),
        cmocka_unit_test_teardown(test_minus_infinity, support_teardown),
        cmocka_unit_test_teardown(test_nan, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
