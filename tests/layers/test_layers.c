/* Layers against the formulas in double precision; whole models are compared in tests/model. */
#include <math.h>
#include <string.h>

#include "math/layers/feed_forward.h"
#include "math/layers/linear.h"
#include "math/layers/norm.h"
#include "math/layers/sublayer.h"
#include "math/layers/workspace.h"
#include "reference/gemm.h"
#include "reference/layernorm.h"
#include "support/support.h"

enum { ROWS = 5, D = 19, F = 37 };

static const struct clf__tensor no_residual = {.buffer = NULL};

static struct clf__linear make_linear(struct clf_device *device, int inputs, int outputs, const float *weight,
                                      const float *bias)
{
    struct clf__linear linear;
    struct clf__weight_part part = {weight, outputs};
    assert_ok(
        clf__linear_create(&linear, device,
                           &(struct clf__weight_source){
                               .parts = &part, .part_count = 1, .inputs = inputs, .what = "a test's layer"},
                           bias));
    return linear;
}

static void test_linear(void **state)
{
    (void)state;
    struct support_random random = {1};
    float *x = support_uniform_array(&random, ROWS * D, 1), *w = support_uniform_array(&random, F * D, 0.5f);
    float *bias = support_uniform_array(&random, F, 1),
          *residual = support_uniform_array(&random, ROWS * F, 1);
    double *expected = support_array(ROWS * F, sizeof *expected);
    for (int n = 0; n < ROWS; n++) {
        reference_gemm_row(expected + n * F, x + n * D, w, F, D, 0.25, bias, CLF__SILU, residual + n * F);
    }
    FOR_EACH_VARIANT(device)
    {
        struct clf__linear linear = make_linear(device, D, F, w, bias);
        linear.scale = 0.25f;
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, F, NULL);
        assert_ok(clf__linear_forward(y, support_tensor(device, CLF__F32, ROWS, D, x), &linear, CLF__SILU,
                                      support_tensor(device, CLF__F32, ROWS, F, residual)));
        assert_close(support_read(y), expected, ROWS * F, 1e-6);
        clf__linear_free(&linear);
    }
}

/* A shared weight stays with its owner. */
static void test_shared_weight(void **state)
{
    (void)state;
    struct support_random random = {2};
    float *w = support_uniform_array(&random, F * D, 1), *x = support_uniform_array(&random, D, 1);
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf__linear owner = make_linear(device, D, F, w, NULL), tied;
    assert_ok(clf__linear_create_shared(&tied, device, owner.weight, NULL, "tied"));
    clf__linear_free(&tied);
    struct clf__tensor y = support_tensor(device, CLF__F32, 1, F, NULL);
    assert_ok(clf__linear_forward(y, support_tensor(device, CLF__F32, 1, D, x), &owner, CLF__IDENTITY,
                                  no_residual));
    double expected[F];
    reference_gemm_row(expected, x, w, F, D, 1, NULL, CLF__IDENTITY, NULL);
    assert_close(support_read(y), expected, F, 1e-6);
    clf__linear_free(&owner);
}

static struct clf__workspace make_workspace(struct clf_device *device, struct clf__arena *arena)
{
    struct clf__workspace workspace;
    const struct clf__workspace_widths widths = {.d_model = D, .projected = 1, .context = 1, .hidden = 2 * F};
    clf__arena_init(arena, device);
    assert_ok(clf__workspace_reserve(&workspace, arena, ROWS + 2, &widths));
    assert_ok(clf__arena_allocate(arena));
    return clf__workspace_rows(&workspace, ROWS);
}

/* y = down(silu(up x) * (gate x)) + x */
static void test_gated_feed_forward(void **state)
{
    (void)state;
    struct support_random random = {3};
    float *x = support_uniform_array(&random, ROWS * D, 1),
          *up = support_uniform_array(&random, 2 * F * D, 0.5f);
    float *down = support_uniform_array(&random, D * F, 0.3f), *bias = support_uniform_array(&random, D, 1);
    double *expected = support_array(ROWS * D, sizeof *expected);
    for (int n = 0; n < ROWS; n++) {
        double both[2 * F];
        reference_gemm_row(both, x + n * D, up, 2 * F, D, 1, NULL, CLF__IDENTITY, NULL);
        for (int d = 0; d < D; d++) {
            double sum = bias[d] + (double)x[n * D + d];
            for (int f = 0; f < F; f++) {
                sum += (double)down[d * F + f] * reference_activation(CLF__SILU, both[f]) * both[F + f];
            }
            expected[n * D + d] = sum;
        }
    }
    FOR_EACH_VARIANT(device)
    {
        struct clf__arena arena;
        struct clf__workspace workspace = make_workspace(device, &arena);
        struct clf__feed_forward layer = {.up = make_linear(device, D, 2 * F, up, NULL),
                                          .down = make_linear(device, F, D, down, bias),
                                          .activation = CLF__SILU,
                                          .width = F,
                                          .gated = 1};
        struct clf__tensor input = support_tensor(device, CLF__F32, ROWS, D, x);
        assert_ok(clf__feed_forward_forward(workspace.normed, input, input, &layer, &workspace));
        assert_close(support_read(workspace.normed), expected, ROWS * D, 1e-5);
        clf__linear_free(&layer.up);
        clf__linear_free(&layer.down);
        clf__arena_free(&arena);
    }
}

/* With f(x) = W x: norm first gives x + W norm(x), norm last gives norm(x + W x). */
static void check_sublayer(struct clf_device *device, int norm_first)
{
    struct support_random random = {4};
    float *x = support_uniform_array(&random, ROWS * D, 2), *w = support_uniform_array(&random, D * D, 0.5f);
    float *gamma = support_uniform_array(&random, D, 1), *beta = support_uniform_array(&random, D, 1);
    double *expected = support_array(ROWS * D, sizeof *expected);
    for (int n = 0; n < ROWS; n++) {
        double inner[D], outer[D];
        float rounded[D];
        memcpy(rounded, x + n * D, sizeof rounded);
        if (norm_first) {
            reference_layernorm(inner, rounded, gamma, beta, 1, D, CLF__NORM_LAYER, 1e-5);
            for (int d = 0; d < D; d++) {
                rounded[d] = (float)inner[d];
            }
        }
        reference_gemm_row(outer, rounded, w, D, D, 1, NULL, CLF__IDENTITY, x + n * D);
        if (!norm_first) {
            for (int d = 0; d < D; d++) {
                rounded[d] = (float)outer[d];
            }
            reference_layernorm(outer, rounded, gamma, beta, 1, D, CLF__NORM_LAYER, 1e-5);
        }
        memcpy(expected + n * D, outer, sizeof outer);
    }
    struct clf__arena arena;
    struct clf__workspace workspace = make_workspace(device, &arena);
    struct clf__linear linear = make_linear(device, D, D, w, NULL);
    struct clf__norm norm;
    struct clf__sublayer sublayer;
    assert_ok(clf__norm_create(&norm, device, CLF__NORM_LAYER, 1e-5f, D, gamma, beta, "a test's norm"));
    assert_ok(clf__tensor_write(workspace.x, x));
    assert_ok(clf__sublayer_begin(&sublayer, &norm, norm_first, &workspace));
    assert_ok(clf__linear_forward(sublayer.y, sublayer.x, &linear, CLF__IDENTITY, workspace.x));
    assert_ok(clf__sublayer_end(&sublayer, &workspace));
    assert_close(support_read(workspace.x), expected, ROWS * D, 1e-5);
    clf__norm_free(&norm);
    clf__linear_free(&linear);
    clf__arena_free(&arena);
}

static void test_sublayer(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_sublayer(device, 0);
        check_sublayer(device, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_linear, support_teardown),
        cmocka_unit_test_teardown(test_shared_weight, support_teardown),
        cmocka_unit_test_teardown(test_gated_feed_forward, support_teardown),
        cmocka_unit_test_teardown(test_sublayer, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
