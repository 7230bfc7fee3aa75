/* Every activation and gate against double. */
#include "ops/activation.h"

#include <math.h>

#include "reference/gemm.h"
#include "support/support.h"
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
    FOR_EACH_FORM(device)
    {
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < WIDTHS; i++) {
                check(device, widths[i], kinds[k]);
            }
        }
    }
}

/* Far out every kind is 0 or x; NaN stays NaN, so that a broken model is seen. */
static void test_special_values(void **state)
{
    (void)state;
    enum { C = 23 };
    static const float specials[] = {3e38f, -3e38f, 1e20f, -1e20f, 200.0f, -200.0f, 0.0f, NAN};
    float x[C];
    for (int c = 0; c < C; c++) {
        x[c] = specials[c % 8];
    }
    FOR_EACH_FORM(device)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_activations, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
