/* The three norms against double. */
#include "math/ops/layernorm.h"

#include <math.h>

#include "base/half.h"
#include "cases/rows.h"
#include "math/gemm/layout.h"
#include "reference/gemm.h"
#include "reference/layernorm.h"
#include "support/finite_difference.h"
#include "support/views.h"

enum { ROWS = 5 };

struct problem {
    int columns;
    enum clf__norm_kind kind;
    int has_beta;
    float eps;
    float mean; /* mean of the input, whose standard deviation is about 1 */
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
    FOR_EACH_VARIANT(device)
    {
        struct support_view in = support_view(device, ROWS, columns, x);
        struct support_view out = support_view(device, ROWS, columns, NULL);
        struct clf__tensor gamma_view = support_view(device, 1, columns, gamma).tensor;
        struct clf__tensor beta_view = {.buffer = NULL};
        if (beta) {
            beta_view = support_view(device, 1, columns, beta).tensor;
        }
        assert_ok(clf__layernorm_forward(out.tensor, CLF__NO_TENSOR, in.tensor, gamma_view, beta_view,
                                         problem->kind, problem->eps));
        assert_close(support_read(out.tensor), expected, count, tolerance);
        support_view_check(&out);
        assert_ok(clf__layernorm_forward(in.tensor, CLF__NO_TENSOR, in.tensor, gamma_view, beta_view,
                                         problem->kind, problem->eps));
        assert_close(support_read(in.tensor), expected, count, tolerance);
        support_view_check(&in);
    }
}

/* y in bf16, with and without y itself, is y rounded. */
static void check_rounded(struct clf_device *device, int columns, enum clf__norm_kind kind)
{
    struct support_random random = {77};
    float *x = support_uniform_array(&random, (size_t)(ROWS * columns), 2.0f);
    struct clf__tensor in = support_tensor(device, CLF__F32, ROWS, columns, x);
    struct clf__tensor gain =
        support_tensor(device, CLF__F32, 1, columns, support_uniform_array(&random, (size_t)columns, 1.5f));
    struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, columns, NULL), none = {.buffer = NULL};
    assert_ok(clf__layernorm_forward(y, CLF__NO_TENSOR, in, gain, none, kind, 1e-5f));
    float *expected = support_read(y);
    for (int has_y = 0; has_y < 2; has_y++) {
        struct support_view out = support_view(device, ROWS, columns, NULL);
        struct clf__tensor memory = support_tensor(device, CLF__F32, ROWS + 1, columns + 3, NULL);
        struct clf__tensor rounded = clf__tensor_rows(clf__tensor_as(memory, CLF__BF16), 1, ROWS);
        rounded = clf__tensor_columns(rounded, 2, columns);
        assert_ok(clf__layernorm_forward(has_y ? out.tensor : none, rounded, in, gain, none, kind, 1e-5f));
        uint16_t *all = (uint16_t *)support_read(memory);
        for (int i = 0; i < 2 * memory.rows * memory.columns; i++) {
            int row = i / rounded.stride - 1, column = i % rounded.stride - 2;
            if (row >= 0 && row < ROWS && column >= 0 && column < columns) {
                assert_true(clf__float_of_bf16(all[i]) ==
                            reference_round(CLF__PRECISION_BF16, expected[row * columns + column]));
            } else {
                assert_true(all[i] == (i % 2 ? 0x7fc0 : 0)); /* the poison's halves */
            }
        }
        if (has_y) {
            assert_memory_equal(support_read(out.tensor), expected,
                                (size_t)(ROWS * columns) * sizeof *expected);
        }
        support_view_check(&out);
    }
}

/* Quantised y, with and without y itself, equals the GEMM's quantisation of y. */
static void check_quantized(struct clf_device *device, int columns, enum clf__norm_kind kind)
{
    struct support_random random = {78};
    int stride = CLF__QUANTIZED_STRIDE(columns);
    float *x = support_uniform_array(&random, (size_t)(ROWS * columns), 2.0f);
    for (int i = 0; i < columns; i++) {
        x[columns + i] = i == columns / 2 ? INFINITY : 1.0f; /* a row that is not finite */
    }
    struct clf__tensor in = support_tensor(device, CLF__F32, ROWS, columns, x);
    struct clf__tensor gain =
        support_tensor(device, CLF__F32, 1, columns, support_uniform_array(&random, (size_t)columns, 1.5f));
    struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, columns, NULL), none = {.buffer = NULL};
    struct clf__tensor expected = support_tensor(device, CLF__QUANTIZED, ROWS, stride, NULL);
    assert_ok(clf__layernorm_forward(y, CLF__NO_TENSOR, in, gain, none, kind, 1e-5f));
    assert_ok(clf__gemm_round(clf__tensor_matrix(expected), clf__tensor_matrix(y), ROWS, columns));
    uint8_t *expected_bytes = support_array((size_t)(ROWS * stride), 2),
            *bytes = support_array((size_t)(ROWS * stride), 2);
    assert_ok(clf__tensor_read(expected, expected_bytes));
    for (int has_y = 0; has_y < 2; has_y++) {
        struct clf__tensor out = support_tensor(device, CLF__QUANTIZED, ROWS, stride, NULL);
        assert_ok(clf__layernorm_forward(has_y ? in : none, out, in, gain, none, kind, 1e-5f));
        assert_ok(clf__tensor_read(out, bytes));
        assert_memory_equal(bytes, expected_bytes, (size_t)(2 * ROWS * stride));
    }
    assert_memory_equal(support_read(in), support_read(y), (size_t)(ROWS * columns) * sizeof(float));
}

static void test_quantized(void **state)
{
    (void)state;
    if (support_last_variant() == CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device *device = support_matrix_device();
    const int widths[] = {1, 3, 64, 70, 261, 1024, 1025};
    for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++) {
        check_quantized(device, widths[i], CLF__NORM_LAYER);
    }
    check_quantized(device, 33, CLF__NORM_RMS);
    check_quantized(device, 1100, CLF__NORM_STD);
}

static void test_rounded(void **state)
{
    (void)state;
    const int widths[] = {1, 3, 16, 17, 64, 70, 261};
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++) {
            check_rounded(device, widths[i], CLF__NORM_LAYER);
        }
        check_rounded(device, 33, CLF__NORM_RMS);
    }
}

static void check_kind(enum clf__norm_kind kind)
{
    for (int i = 0; i < (support_small() ? 11 : row_edge_column_count); i += support_small() ? 2 : 1) {
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
    const int wide[] = {600, 1024, 1025, 1280}; /* above and below the private memory of the GPU variant's
                                                   work-items */
    for (int i = 0; i < 4; i++) {
        struct problem problem = {wide[i], CLF__NORM_LAYER, 1, 1e-5f, 0.25f};
        check(&problem, 2e-6);
    }
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

/* A mean of a thousand standard deviations: E[x²] - E[x]² would keep about one digit. */
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
        FOR_EACH_VARIANT(device)
        {
            struct clf__tensor out = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__layernorm_forward(out, CLF__NO_TENSOR, support_tensor(device, CLF__F32, 1, C, x),
                                             support_tensor(device, CLF__F32, 1, C, gamma),
                                             support_tensor(device, CLF__F32, 1, C, beta), kinds[k], 1e-5f));
            assert_memory_equal(support_read(out), beta, sizeof beta);
        }
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
    float *gamma = support_uniform_array(&random, C, 1.0f);
    struct clf__tensor no_beta = {.buffer = NULL};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__F32, rows, C, x);
        struct clf__tensor out = support_tensor(device, CLF__F32, rows, C, NULL);
        struct clf__tensor gain = support_tensor(device, CLF__F32, 1, C, gamma);
        assert_ok(clf__layernorm_forward(out, CLF__NO_TENSOR, in, gain, no_beta, CLF__NORM_LAYER, 1e-6f));
        float *all = support_read(out);
        for (int n = 0; n < rows; n += rows / 7) {
            struct clf__tensor one = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__layernorm_forward(one, CLF__NO_TENSOR, clf__tensor_rows(in, n, 1), gain, no_beta,
                                             CLF__NORM_LAYER, 1e-6f));
            assert_memory_equal(support_read(one), all + n * C, C * sizeof(float));
        }
        for (int i = 0; i < rows * C; i++) {
            assert_false(isnan(all[i]));
        }
    }
}

static struct clf__tensor scratch_for(struct clf_device *device, int rows, int columns)
{
    return support_tensor(device, CLF__F32, 1, (int)clf__layernorm_backward_scratch(rows, columns), NULL);
}

/* Twice, the second time with dx in place of dy, to check that parameter gradients accumulate. */
static void check_backward(struct clf_device *device, const struct problem *problem, int rows)
{
    int columns = problem->columns;
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)rows * (size_t)columns, width = (size_t)columns;
    float *x = support_uniform_array(&random, count, 2.0f);
    float *dy = support_uniform_array(&random, count, 1.0f);
    float *gamma = support_uniform_array(&random, width, 1.5f);
    float *before = support_uniform_array(&random, width, 3.0f);
    double *dx = support_array(count, sizeof *dx), *dgamma = support_array(width, sizeof *dgamma);
    double *dbeta = support_array(width, sizeof *dbeta);
    for (size_t i = 0; i < count; i++) {
        x[i] += problem->mean;
    }
    for (int i = 0; i < columns; i++) {
        dgamma[i] = dbeta[i] = (double)before[i];
    }
    for (int i = 0; i < 2; i++) {
        reference_layernorm_backward(dx, dgamma, dbeta, dy, x, gamma, rows, columns, problem->kind,
                                     (double)problem->eps);
    }
    struct support_view in = support_view(device, rows, columns, x);
    struct support_view grad = support_view(device, rows, columns, dy);
    struct support_view out = support_view(device, rows, columns, NULL);
    struct support_view gain = support_view(device, 1, columns, before);
    struct support_view shift = support_view(device, 1, columns, before);
    struct clf__tensor shift_view = {.buffer = NULL}, factor = support_view(device, 1, columns, gamma).tensor;
    struct clf__tensor scratch = scratch_for(device, rows, columns);
    if (problem->has_beta) {
        shift_view = shift.tensor;
    }
    assert_ok(clf__layernorm_backward(out.tensor, gain.tensor, shift_view, grad.tensor, in.tensor, factor,
                                      problem->kind, problem->eps, scratch));
    assert_close(support_read(out.tensor), dx, count, 2e-6);
    support_view_check(&out);
    assert_ok(clf__layernorm_backward(grad.tensor, gain.tensor, shift_view, grad.tensor, in.tensor, factor,
                                      problem->kind, problem->eps, scratch));
    assert_close(support_read(grad.tensor), dx, count, 2e-6);
    support_view_check(&grad);
    assert_close(support_read(gain.tensor), dgamma, width, 2e-6);
    support_view_check(&gain);
    if (problem->has_beta) {
        assert_close(support_read(shift.tensor), dbeta, width, 2e-6);
    } else {
        assert_memory_equal(support_read(shift.tensor), before, width * sizeof *before);
    }
    support_view_check(&shift);
}

static void test_backward(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int kind = CLF__NORM_LAYER; kind <= CLF__NORM_STD; kind++) {
            for (int i = 0; i < (support_small() ? 11 : row_edge_column_count);
                 i += support_small() ? 3 : 1) {
                struct problem problem = {row_edge_columns[i], (enum clf__norm_kind)kind, i % 4 < 2, 0.1f,
                                          0.25f};
                check_backward(device, &problem, ROWS);
            }
        }
    }
}

/* Around the chunks of rows, and enough rows for chunks above the minimum. */
static void test_backward_rows(void **state)
{
    (void)state;
    static const int rows[] = {1, 7, 8, 9, 31, 32, 33, 65, 8193};
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (support_small() ? 8 : 9); i += support_small() ? 3 : 1) {
            struct problem problem = {33, CLF__NORM_LAYER, 1, 1e-5f, 0.25f};
            check_backward(device, &problem, rows[i]);
        }
    }
}

/* A row of equal values has a finite gradient: x / std is not 0 / 0. */
static void test_backward_constant_row(void **state)
{
    (void)state;
    enum { C = 33 };
    float x[C], gamma[C], dy[C];
    double dx[C], dgamma[C] = {0}, dbeta[C] = {0};
    for (int i = 0; i < C; i++) {
        x[i] = 4.0f;
        gamma[i] = 1.0f;
        dy[i] = (float)i;
    }
    const struct clf__tensor none = {.buffer = NULL};
    FOR_EACH_VARIANT(device)
    {
        for (int kind = CLF__NORM_LAYER; kind <= CLF__NORM_STD; kind++) {
            struct clf__tensor out = support_tensor(device, CLF__F32, 1, C, NULL);
            reference_layernorm_backward(dx, dgamma, dbeta, dy, x, gamma, 1, C, (enum clf__norm_kind)kind,
                                         0.5);
            assert_ok(clf__layernorm_backward(
                out, support_tensor(device, CLF__F32, 1, C, support_array(C, sizeof(float))), none,
                support_tensor(device, CLF__F32, 1, C, dy), support_tensor(device, CLF__F32, 1, C, x),
                support_tensor(device, CLF__F32, 1, C, gamma), (enum clf__norm_kind)kind, 0.5f,
                scratch_for(device, 1, C)));
            assert_close(support_read(out), dx, C, 2e-6);
        }
    }
}

struct norming {
    struct clf__tensor y, x, gamma, beta;
    enum clf__norm_kind kind;
};

static void forward(void *context)
{
    struct norming *n = context;
    assert_ok(clf__layernorm_forward(n->y, CLF__NO_TENSOR, n->x, n->gamma, n->beta, n->kind, 0.1f));
}

static void check_differences(struct clf_device *device, enum clf__norm_kind kind)
{
    enum { R = 3, C = 19 };
    struct support_random random = {(uint64_t)kind};
    struct norming n = {support_tensor(device, CLF__F32, R, C, NULL),
                        support_tensor(device, CLF__F32, R, C, support_uniform_array(&random, R * C, 2.0f)),
                        support_tensor(device, CLF__F32, 1, C, support_uniform_array(&random, C, 1.5f)),
                        support_tensor(device, CLF__F32, 1, C, support_uniform_array(&random, C, 1.0f)),
                        kind};
    const float *dy = support_uniform_array(&random, R * C, 1.0f);
    struct clf__tensor dx = support_tensor(device, CLF__F32, R, C, NULL);
    struct clf__tensor dgamma = support_tensor(device, CLF__F32, 1, C, support_array(C, sizeof(float)));
    struct clf__tensor dbeta = support_tensor(device, CLF__F32, 1, C, support_array(C, sizeof(float)));
    assert_ok(clf__layernorm_backward(dx, dgamma, dbeta, support_tensor(device, CLF__F32, R, C, dy), n.x,
                                      n.gamma, kind, 0.1f, scratch_for(device, R, C)));
    struct support_function function = {forward, &n, n.y, dy};
    support_check_gradient(&function, n.x, support_read(dx), 0.03125, 1e-4);
    support_check_gradient(&function, n.gamma, support_read(dgamma), 0.125, 1e-5);
    support_check_gradient(&function, n.beta, support_read(dbeta), 0.125, 1e-5);
}

static void test_finite_differences(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int kind = CLF__NORM_LAYER; kind <= CLF__NORM_STD; kind++) {
            check_differences(device, (enum clf__norm_kind)kind);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_layer, support_teardown),
        cmocka_unit_test_teardown(test_rounded, support_teardown),
        cmocka_unit_test_teardown(test_quantized, support_teardown),
        cmocka_unit_test_teardown(test_rms, support_teardown),
        cmocka_unit_test_teardown(test_std, support_teardown),
        cmocka_unit_test_teardown(test_far_from_zero, support_teardown),
        cmocka_unit_test_teardown(test_constant_row, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_backward, support_teardown),
        cmocka_unit_test_teardown(test_backward_rows, support_teardown),
        cmocka_unit_test_teardown(test_backward_constant_row, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
