/* The three norms against double. */
#include "ops/layernorm.h"

#include <math.h>

#include "cases/rows.h"
#include "reference/layernorm.h"
#include "support/support.h"
#include "support/views.h"

enum { ROWS = 5 };

struct problem {
    int columns;
    enum clf__norm_kind kind;
    int has_beta;
    float eps;
    float mean; /* of the input, whose spread is about 1 */
};

static void check(const struct problem *problem, double tolerance)
{
    int columns = problem->columns;
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 2.0f);
    float *gamma = support_uniform_array(&random, (size_t)columns, 1.5f);
    float *beta = problem->has_beta ? support_uniform_array(&random, (size_t)columns, 1.0f) : NULL;
    for (size_t i = 0; i < count; i++) {
        x[i] += problem->mean;
    }
    double *expected = support_array(count, sizeof *expected);
    reference_layernorm(expected, x, gamma, beta, ROWS, columns, problem->kind, (double)problem->eps);
    FOR_EACH_FORM(device)
    {
        struct support_view in = support_view(device, ROWS, columns, x);
        struct support_view out = support_view(device, ROWS, columns, NULL);
        struct clf__tensor gamma_view = support_view(device, 1, columns, gamma).tensor;
        struct clf__tensor beta_view = {.buffer = NULL};
        if (beta) {
            beta_view = support_view(device, 1, columns, beta).tensor;
        }
        assert_ok(clf__layernorm_forward(out.tensor, in.tensor, gamma_view, beta_view, problem->kind,
                                         problem->eps));
        assert_close(support_read(out.tensor), expected, count, tolerance);
        support_view_check(&out);
        assert_ok(
            clf__layernorm_forward(in.tensor, in.tensor, gamma_view, beta_view, problem->kind, problem->eps));
        assert_close(support_read(in.tensor), expected, count, tolerance);
        support_view_check(&in);
    }
}

static void check_kind(enum clf__norm_kind kind)
{
    for (int i = 0; i < row_edge_column_count; i++) {
        for (int has_beta = 0; has_beta < 2; has_beta++) {
            struct problem problem = {row_edge_columns[i], kind, has_beta, 1e-5f, 0.25f};
            check(&problem, 2e-6);
        }
    }
}

static void test_layer(void **state)
{
    (void)state;
    check_kind(CLF__NORM_LAYER);
}

static void test_rms(void **state)
{
    (void)state;
    check_kind(CLF__NORM_RMS);
}

static void test_std(void **state)
{
    (void)state;
    check_kind(CLF__NORM_STD);
}

/* A mean of a thousand spreads: mean of squares minus square of mean would keep about one digit. */
static void test_far_from_zero(void **state)
{
    (void)state;
    struct problem layer = {512, CLF__NORM_LAYER, 1, 1e-5f, 1000.0f};
    struct problem std = {512, CLF__NORM_STD, 1, 1e-6f, 1000.0f};
    check(&layer, 1e-4);
    check(&std, 1e-4);
}

/* A row of equal values is beta, not 0 / 0. */
static void test_constant_row(void **state)
{
    (void)state;
    enum { C = 33 };
    float x[C], gamma[C], beta[C];
    for (int i = 0; i < C; i++) {
        x[i] = 4.0f;
        gamma[i] = 1.0f;
        beta[i] = (float)i;
    }
    const enum clf__norm_kind kinds[] = {CLF__NORM_LAYER, CLF__NORM_STD};
    for (int k = 0; k < 2; k++) {
        FOR_EACH_FORM(device)
        {
            struct clf__tensor out = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__layernorm_forward(out, support_tensor(device, CLF__F32, 1, C, x),
                                             support_tensor(device, CLF__F32, 1, C, gamma),
                                             support_tensor(device, CLF__F32, 1, C, beta), kinds[k], 1e-5f));
            assert_memory_equal(support_read(out), beta, sizeof beta);
        }
    }
}

/* A row has the same bits alone and among others, also where the groups take more than one row each. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    enum { C = 37 };
    int rows = support_small() ? 70 : 2500;
    struct support_random random = {7};
    float *x = support_uniform_array(&random, (size_t)rows * C, 5.0f);
    float *gamma = support_uniform_array(&random, C, 1.0f);
    struct clf__tensor no_beta = {.buffer = NULL};
    FOR_EACH_FORM(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, rows, C, x);
        struct clf__tensor out = support_tensor(device, CLF__F32, rows, C, NULL);
        struct clf__tensor gain = support_tensor(device, CLF__F32, 1, C, gamma);
        assert_ok(clf__layernorm_forward(out, in, gain, no_beta, CLF__NORM_LAYER, 1e-6f));
        float *all = support_read(out);
        for (int n = 0; n < rows; n += rows / 7) {
            struct clf__tensor one = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__layernorm_forward(one, clf__tensor_rows(in, n, 1), gain, no_beta, CLF__NORM_LAYER,
                                             1e-6f));
            assert_memory_equal(support_read(one), all + n * C, C * sizeof(float));
        }
        for (int i = 0; i < rows * C; i++) {
            assert_false(isnan(all[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_layer, support_teardown),
        cmocka_unit_test_teardown(test_rms, support_teardown),
        cmocka_unit_test_teardown(test_std, support_teardown),
        cmocka_unit_test_teardown(test_far_from_zero, support_teardown),
        cmocka_unit_test_teardown(test_constant_row, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
