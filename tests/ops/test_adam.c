/* Adam and AdamW against double, and sums of squares. */
#include "math/ops/adam.h"

#include <math.h>

#include "reference/adam.h"
#include "support/views.h"

static struct clf__adam adam_at(int t, double decay, double coupled_decay, double gradient_scale)
{
    struct clf__adam adam = {.rate = 1e-3,
                             .beta1 = 0.9,
                             .beta2 = 0.98,
                             .epsilon = 1e-9,
                             .correction1 = 1.0 - pow(0.9, t),
                             .correction2 = 1.0 - pow(0.98, t),
                             .decay = decay,
                             .coupled_decay = coupled_decay,
                             .gradient_scale = gradient_scale};
    return adam;
}

static double *doubles(const float *values, size_t count)
{
    double *copy = support_array(count, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = (double)values[i];
    }
    return copy;
}

/* Ten steps from zero, each with a different gradient. */
static void check(struct clf_device *device, int n, double decay, double coupled_decay, double gradient_scale)
{
    struct support_random random = {(uint64_t)n};
    size_t count = (size_t)n;
    float *start = support_uniform_array(&random, count, 1.0f), *zeros = support_array(count, sizeof *zeros);
    double *w = doubles(start, count), *m = doubles(zeros, count), *v = doubles(zeros, count);
    struct support_view weights = support_view(device, 1, n, start),
                        gradients = support_view(device, 1, n, zeros);
    struct support_view first = support_view(device, 1, n, zeros), second = support_view(device, 1, n, zeros);
    for (int t = 1; t <= 10; t++) {
        struct clf__adam adam = adam_at(t, decay, coupled_decay, gradient_scale);
        float *dw = support_uniform_array(&random, count, 0.1f);
        reference_adam(w, m, v, dw, count, &adam);
        assert_ok(clf__tensor_write(gradients.tensor, dw));
        assert_ok(clf__adam_update(weights.tensor, first.tensor, second.tensor, gradients.tensor, &adam));
        assert_memory_equal(support_read(gradients.tensor), zeros, count * sizeof *zeros);
    }
    assert_close(support_read(weights.tensor), w, count, 1e-6);
    assert_close(support_read(first.tensor), m, count, 1e-6);
    assert_close(support_read(second.tensor), v, count, 1e-6);
    support_view_check(&weights);
    support_view_check(&first);
    support_view_check(&second);
    support_view_check(&gradients);
}

static const int sizes[] = {1, 15, 16, 17, 63, 64, 65, 257, 4095, 4096, 4097, 50001};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_sizes(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < (support_small() ? 7 : SIZES); i++) {
            check(device, sizes[i], 0.0, 0.0, 1.0);
        }
    }
}

static void test_decay_and_clipping(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check(device, 333, 0.01, 0.0, 1.0);
        check(device, 333, 0.0, 0.1, 1.0);
        check(device, 333, 0.0, 0.0, 0.037);
        check(device, 333, 0.3, 0.2, 0.5);
    }
}

/* The usual beta2: 1 - beta2 in float would be wrong in the fifth digit. */
static void test_long_memory(void **state)
{
    (void)state;
    enum { N = 100 };
    struct support_random random = {1};
    float *dw = support_uniform_array(&random, N, 1.0f);
    double expected[N];
    for (int i = 0; i < N; i++) {
        expected[i] = 0.001 * (double)dw[i] * (double)dw[i];
    }
    struct clf__adam adam = adam_at(1, 0.0, 0.0, 1.0);
    adam.beta2 = 0.999;
    adam.correction2 = 0.001;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor zeros[3];
        for (int i = 0; i < 3; i++) {
            zeros[i] = support_tensor(device, CLF__F32, 1, N, support_array(N, sizeof(float)));
        }
        assert_ok(clf__adam_update(zeros[0], zeros[1], zeros[2], support_tensor(device, CLF__F32, 1, N, dw),
                                   &adam));
        assert_close(support_read(zeros[2]), expected, N, 2e-7);
        const float *w = support_read(zeros[0]); /* the first step equals the learning rate */
        for (int i = 0; i < N; i++) {
            assert_float_equal(w[i], dw[i] > 0.0f ? -1e-3f : 1e-3f, 1e-9f);
        }
    }
}

/* Padding of a weight's layout has no gradient and stays 0. */
static void test_zeros_stay(void **state)
{
    (void)state;
    enum { N = 37 };
    const float zeros[N] = {0};
    struct clf__adam adam = adam_at(3, 0.1, 0.1, 0.5);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor all[4];
        for (int i = 0; i < 4; i++) {
            all[i] = support_tensor(device, CLF__F32, 1, N, zeros);
        }
        assert_ok(clf__adam_update(all[0], all[1], all[2], all[3], &adam));
        for (int i = 0; i < 4; i++) {
            const float *values = support_read(all[i]);
            for (int k = 0; k < N; k++) {
                assert_true(values[k] == 0.0f);
            }
        }
    }
}

static void test_sum_squares(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int s = 0; s < (support_small() ? 11 : SIZES); s++) {
            int n = sizes[s], count = clf__sum_squares_parts((size_t)n);
            struct support_random random = {(uint64_t)n};
            float *x = support_uniform_array(&random, (size_t)n, 3.0f);
            double expected = 0.0, actual = 0.0;
            for (int i = 0; i < n; i++) {
                expected += (double)x[i] * (double)x[i];
            }
            struct support_view in = support_view(device, 1, n, x),
                                parts = support_view(device, 1, count, NULL);
            assert_ok(clf__sum_squares(parts.tensor, in.tensor));
            const float *sums = support_read(parts.tensor);
            for (int k = 0; k < count; k++) {
                actual += (double)sums[k];
            }
            assert_true(fabs(actual - expected) <= 1e-6 * expected);
            support_view_check(&parts);
        }
    }
}

/* A gradient that is not finite is detected at any position. */
static void test_not_finite(void **state)
{
    (void)state;
    enum { N = 40000 };
    static const int places[] = {0, 15, 4096, N - 1};
    static const float values[] = {NAN, INFINITY, -INFINITY};
    float *x = support_array(N, sizeof *x);
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < 12; i++) {
            x[places[i % 4]] = values[i % 3];
            int count = clf__sum_squares_parts(N), found = 0;
            struct clf__tensor parts = support_tensor(device, CLF__F32, 1, count, NULL);
            assert_ok(clf__sum_squares(parts, support_tensor(device, CLF__F32, 1, N, x)));
            const float *sums = support_read(parts);
            for (int k = 0; k < count; k++) {
                found += !isfinite(sums[k]);
            }
            assert_int_equal(found, 1);
            x[places[i % 4]] = 0.0f;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sizes, support_teardown),
        cmocka_unit_test_teardown(test_decay_and_clipping, support_teardown),
        cmocka_unit_test_teardown(test_long_memory, support_teardown),
        cmocka_unit_test_teardown(test_zeros_stay, support_teardown),
        cmocka_unit_test_teardown(test_sum_squares, support_teardown),
        cmocka_unit_test_teardown(test_not_finite, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
