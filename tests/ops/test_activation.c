/* Every activation and gate against double. */
#include "math/ops/activation.h"

#include <math.h>

#include "reference/activation.h"
#include "reference/gemm.h"
#include "support/finite_difference.h"
#include "support/views.h"

static const int widths[] = {1, 15, 16, 17, 31, 33, 63, 64, 65, 129};
enum { WIDTHS = sizeof widths / sizeof *widths, ROWS = 5 };
static const enum clf__activation kinds[] = {CLF__IDENTITY, CLF__RELU, CLF__GELU_ERF, CLF__GELU_TANH,
                                             CLF__SILU};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check(struct clf_device *device, int columns, enum clf__activation kind)
{
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 6.0f);
    float *factor = support_uniform_array(&random, count, 2.0f);
    double *activated = support_array(count, sizeof *activated);
    double *gated = support_array(count, sizeof *gated);
    for (size_t i = 0; i < count; i++) {
        activated[i] = reference_activation(kind, (double)x[i]);
        gated[i] = activated[i] * (double)factor[i];
    }
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view gate = support_view(device, ROWS, columns, factor);
    struct support_view out = support_view(device, ROWS, columns, NULL);
    assert_ok(clf__activation_forward(out.tensor, in.tensor, kind));
    assert_close(support_read(out.tensor), activated, count, 1e-6);
    assert_ok(clf__gate_forward(out.tensor, in.tensor, gate.tensor, kind));
    assert_close(support_read(out.tensor), gated, count, 1e-6);
    support_view_check(&out);
    assert_ok(clf__gate_forward(gate.tensor, in.tensor, gate.tensor, kind));
    assert_close(support_read(gate.tensor), gated, count, 1e-6);
    support_view_check(&gate);
    assert_ok(clf__activation_forward(in.tensor, in.tensor, kind));
    assert_close(support_read(in.tensor), activated, count, 1e-6);
    support_view_check(&in);
}

static void test_activations(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < WIDTHS; i++) {
                check(device, widths[i], kinds[k]);
            }
        }
    }
}

/* The error of GELU stays within the bound in prelude.cl over its polynomial's range. */
static void test_gelu_error(void **state)
{
    (void)state;
    enum { ROWS_OF = 16, C = 1000 };
    float x[ROWS_OF * C];
    for (int i = 0; i < ROWS_OF * C; i++) {
        x[i] = 20.0f * (float)i / (ROWS_OF * C) - 10.0f;
    }
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor out = support_tensor(device, CLF__F32, ROWS_OF, C, NULL);
        struct clf__tensor in = support_tensor(device, CLF__F32, ROWS_OF, C, x);
        assert_ok(clf__activation_forward(out, in, CLF__GELU_ERF));
        float *y = support_read(out);
        for (int i = 0; i < ROWS_OF * C; i++) {
            int row = i / C, column = i % C;
            double error = (double)y[row * out.stride + column] -
                           reference_activation(CLF__GELU_ERF, (double)x[row * C + column]);
            assert_true(fabs(error) <= 2e-7 * fmax(1.0, fabs((double)x[row * C + column])));
        }
    }
}

/* For large |x| every kind is 0 or x; NaN stays NaN, so that a broken model is detected. */
static void test_special_values(void **state)
{
    (void)state;
    enum { C = 23 };
    static const float specials[] = {3e38f, -3e38f, 1e20f, -1e20f, 200.0f, -200.0f, 0.0f, NAN};
    float x[C];
    for (int c = 0; c < C; c++) {
        x[c] = specials[c % 8];
    }
    FOR_EACH_VARIANT(device)
    {
        for (int k = 1; k < KINDS; k++) {
            struct clf__tensor out = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__activation_forward(out, support_tensor(device, CLF__F32, 1, C, x), kinds[k]));
            float *y = support_read(out);
            for (int c = 0; c < C; c++) {
                if (isnan(x[c])) {
                    assert_true(isnan(y[c]));
                } else {
                    assert_true(y[c] == (x[c] > 0.0f ? x[c] : 0.0f));
                }
            }
        }
    }
}

static void check_backward(struct clf_device *device, int columns, enum clf__activation kind)
{
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 6.0f), *dy = support_uniform_array(&random, count, 1.0f);
    x[0] = 0.0f;
    double *dx = support_array(count, sizeof *dx);
    for (size_t i = 0; i < count; i++) {
        dx[i] = (double)dy[i] * reference_activation_slope(kind, (double)x[i]);
    }
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view grad = support_view(device, ROWS, columns, dy);
    struct support_view out = support_view(device, ROWS, columns, NULL);
    assert_ok(clf__activation_backward(out.tensor, grad.tensor, in.tensor, kind));
    assert_close(support_read(out.tensor), dx, count, 1e-6);
    support_view_check(&out);
    assert_ok(clf__activation_backward(grad.tensor, grad.tensor, in.tensor, kind));
    assert_close(support_read(grad.tensor), dx, count, 1e-6);
    support_view_check(&grad);
    assert_ok(clf__tensor_write(grad.tensor, dy));
    assert_ok(clf__activation_backward(in.tensor, grad.tensor, in.tensor, kind));
    assert_close(support_read(in.tensor), dx, count, 1e-6);
    support_view_check(&in);
}

/* To separate outputs, then in place for each operand, then dgate in dy. */
static void check_gate_backward(struct clf_device *device, int columns, enum clf__activation kind)
{
    struct support_random random = {(uint64_t)columns};
    size_t count = (size_t)ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, count, 6.0f), *dy = support_uniform_array(&random, count, 1.0f);
    float *factor = support_uniform_array(&random, count, 2.0f);
    double *dx = support_array(count, sizeof *dx), *dgate = support_array(count, sizeof *dgate);
    for (size_t i = 0; i < count; i++) {
        dx[i] = (double)dy[i] * (double)factor[i] * reference_activation_slope(kind, (double)x[i]);
        dgate[i] = (double)dy[i] * reference_activation(kind, (double)x[i]);
    }
    for (int alias = 0; alias < 3; alias++) {
        struct support_view in = support_view(device, ROWS, columns, x);
        struct support_view gate = support_view(device, ROWS, columns, factor);
        struct support_view grad = support_view(device, ROWS, columns, dy);
        struct support_view out = alias ? in : support_view(device, ROWS, columns, NULL);
        struct support_view gate_out = alias == 2   ? grad
                                       : alias == 1 ? gate
                                                    : support_view(device, ROWS, columns, NULL);
        assert_ok(clf__gate_backward(out.tensor, gate_out.tensor, grad.tensor, in.tensor, gate.tensor, kind));
        assert_close(support_read(out.tensor), dx, count, 1e-6);
        assert_close(support_read(gate_out.tensor), dgate, count, 1e-6);
        support_view_check(&out);
        support_view_check(&gate_out);
    }
}

static void test_backward(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < WIDTHS; i += support_small() ? 4 : 1) {
                check_backward(device, widths[i], kinds[k]);
                check_gate_backward(device, widths[i], kinds[k]);
                support_free_all();
            }
        }
    }
}

/* For large |x| every slope is 0 or 1; NaN stays NaN if the slope depends on the value. */
static void test_special_slopes(void **state)
{
    (void)state;
    enum { C = 23 };
    static const float specials[] = {3e38f, -3e38f, 1e20f, -1e20f, 200.0f, -200.0f, INFINITY, NAN};
    float x[C], ones[C];
    for (int c = 0; c < C; c++) {
        x[c] = specials[c % 8];
        ones[c] = 1.0f;
    }
    FOR_EACH_VARIANT(device)
    {
        for (int k = 1; k < KINDS; k++) {
            struct clf__tensor out = support_tensor(device, CLF__F32, 1, C, NULL);
            assert_ok(clf__activation_backward(out, support_tensor(device, CLF__F32, 1, C, ones),
                                               support_tensor(device, CLF__F32, 1, C, x), kinds[k]));
            float *dx = support_read(out);
            for (int c = 0; c < C; c++) {
                if (isnan(x[c])) {
                    assert_true(kinds[k] == CLF__RELU ? dx[c] == 1.0f : isnan(dx[c]));
                } else {
                    assert_float_equal(dx[c], x[c] > 0.0f ? 1.0f : 0.0f, 1e-30f);
                }
            }
        }
    }
}

struct activating {
    struct clf__tensor y, x, gate;
    enum clf__activation kind;
};

static void forward(void *context)
{
    struct activating *a = context;
    assert_ok(clf__activation_forward(a->y, a->x, a->kind));
}

static void forward_gate(void *context)
{
    struct activating *a = context;
    assert_ok(clf__gate_forward(a->y, a->x, a->gate, a->kind));
}

static void check_differences(struct clf_device *device, enum clf__activation kind)
{
    enum { R = 2, C = 19 };
    struct support_random random = {(uint64_t)kind};
    float *x = support_uniform_array(&random, R * C, 4.0f);
    for (int i = 0; i < R * C; i++) {
        x[i] += x[i] < 0.0f ? -0.1f : 0.1f; /* off ReLU's corner */
    }
    struct activating a = {
        support_tensor(device, CLF__F32, R, C, NULL), support_tensor(device, CLF__F32, R, C, x),
        support_tensor(device, CLF__F32, R, C, support_uniform_array(&random, R * C, 1.0f)), kind};
    const float *dy = support_uniform_array(&random, R * C, 1.0f);
    struct clf__tensor grad = support_tensor(device, CLF__F32, R, C, dy);
    struct clf__tensor dx = support_tensor(device, CLF__F32, R, C, NULL);
    struct clf__tensor dgate = support_tensor(device, CLF__F32, R, C, NULL);
    struct support_function function = {forward, &a, a.y, dy};
    assert_ok(clf__activation_backward(dx, grad, a.x, kind));
    support_check_gradient(&function, a.x, support_read(dx), 0.03125, 1e-4);
    function.forward = forward_gate;
    assert_ok(clf__gate_backward(dx, dgate, grad, a.x, a.gate, kind));
    support_check_gradient(&function, a.x, support_read(dx), 0.03125, 1e-4);
    support_check_gradient(&function, a.gate, support_read(dgate), 0.03125, 1e-4);
}

static void test_finite_differences(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int k = 0; k < KINDS; k++) {
            check_differences(device, kinds[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_activations, support_teardown),
        cmocka_unit_test_teardown(test_gelu_error, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
        cmocka_unit_test_teardown(test_backward, support_teardown),
        cmocka_unit_test_teardown(test_special_slopes, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
