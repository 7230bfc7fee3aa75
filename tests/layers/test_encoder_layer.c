/* An encoder layer in bf16 whose norms and attention write rounded GEMM inputs: equal bits to a GEMM that
 * rounds its operands, and no rounding kernels left. */
#include <string.h>

#include "base/half.h"
#include "math/gemm/activations.h"
#include "math/layers/layer.h"
#include "model/stacks.h"
#include "reference/gemm.h"
#include "support/support.h"

enum { ROWS = 21, D = 48, F = 70, HEADS = 3, KEY_WIDTH = 16, VALUE_WIDTH = 24 };

static struct clf__linear make_linear(struct clf_device *device, struct support_random *random, int inputs,
                                      int outputs)
{
    struct clf__linear linear;
    struct clf__weight_part part = {support_uniform_array(random, (size_t)outputs * (size_t)inputs, 0.2f),
                                    outputs};
    struct clf__weight_source source = {&part, 1, inputs, CLF__PRECISION_BF16, "a test's layer"};
    float *bias = support_uniform_array(random, (size_t)outputs, 0.5f);
    assert_ok(clf__linear_create(&linear, device, &source, bias));
    return linear;
}

static struct clf__norm make_norm(struct clf_device *device, struct support_random *random)
{
    struct clf__norm norm;
    float *gamma = support_uniform_array(random, D, 1), *beta = support_uniform_array(random, D, 1);
    assert_ok(clf__norm_create(&norm, device, CLF__NORM_LAYER, 1e-5f, D, gamma, beta, "a test's norm"));
    return norm;
}

static struct clf__layer make_layer(struct clf_device *device, int norm_first)
{
    struct support_random random = {5};
    struct clf__layer layer = {.mixer.kind = &clf__self_attention_mixer, .norm_first = norm_first};
    struct clf__attention_layer *attention = &layer.mixer.attention;
    attention->heads = (struct clf__heads){HEADS, KEY_WIDTH, VALUE_WIDTH, 0.25f};
    attention->input = make_linear(device, &random, D, clf__self_projection_width(&attention->heads));
    attention->output = make_linear(device, &random, HEADS * VALUE_WIDTH, D);
    layer.mixer_norm = make_norm(device, &random);
    layer.feed_forward = (struct clf__feed_forward){.activation = CLF__RELU, .width = F};
    layer.feed_forward.up = make_linear(device, &random, D, F);
    layer.feed_forward.down = make_linear(device, &random, F, D);
    layer.feed_forward_norm = make_norm(device, &random);
    return layer;
}

/* The layer twice, and the number of rounding kernels. */
static float *run(struct clf_device *device, const struct clf__layer *layer, int has_rounded,
                  int64_t *launches)
{
    static const int32_t ranges[8] = {0, 9, 0, 9, 9, ROWS - 9, 9, ROWS - 9};
    struct support_random random = {6};
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    const struct clf__workspace_widths widths = {.d_model = D,
                                                 .projected = clf__self_projection_width(heads),
                                                 .context = HEADS * VALUE_WIDTH + 1,
                                                 .hidden = F + 1,
                                                 .operand = has_rounded ? CLF__BF16 : CLF__F32};
    struct clf__workspace whole, workspace;
    struct clf__arena arena;
    clf__arena_init(&arena, device);
    assert_ok(clf__workspace_reserve(&whole, &arena, ROWS + 2, &widths));
    assert_ok(clf__arena_allocate(&arena));
    workspace = clf__workspace_rows(&whole, ROWS);
    assert_ptr_equal(clf__workspace_operand(&workspace).buffer,
                     has_rounded ? workspace.rounded.buffer : workspace.x.buffer);
    assert_ok(clf__tensor_write(workspace.x, support_uniform_array(&random, ROWS * D, 2)));
    assert_ok(clf__workspace_round(&workspace));
    struct clf__attention_call call = {.heads = *heads,
                                       .ranges = {.sequences = 2, .max_queries = 12, .max_keys = 12}};
    call.ranges.table = support_tensor(device, CLF__I32, 2, 4, ranges);
    const struct clf__layer_call layer_call = {.self_call = &call};
    assert_ok(clf_device_profile_reset(device));
    for (int i = 0; i < 2; i++) {
        assert_ok(clf__layer_forward(layer, &workspace, &layer_call));
    }
    *launches = support_launches(device, "round_bf16_cpu");
    float *x = support_read(workspace.x);
    if (has_rounded && !layer->norm_first) { /* goes with x */
        uint16_t *rounded = support_array(ROWS * D, sizeof *rounded);
        assert_ok(clf__tensor_read(workspace.rounded, rounded));
        for (int i = 0; i < ROWS * D; i++) {
            assert_true(clf__float_of_bf16(rounded[i]) == reference_round(CLF__PRECISION_BF16, x[i]));
        }
    }
    clf__arena_free(&arena);
    return x;
}

static void test_rounded_rows(void **state)
{
    (void)state;
    if (support_first_variant() != CLF_VARIANT_CPU) {
        skip(); /* GPU variants round when they load */
    }
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_CPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    options.profile = 1;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, &options));
    if (!clf__has_bf16_gemm(device)) {
        clf_device_close(device);
        skip(); /* nothing is rounded: bf16 only stores weights there */
    }
    for (int norm_first = 0; norm_first < 2; norm_first++) {
        struct clf__layer layer = make_layer(device, norm_first);
        int64_t without, with;
        float *expected = run(device, &layer, 0, &without), *x = run(device, &layer, 1, &with);
        assert_memory_equal(x, expected, ROWS * D * sizeof *x);
        assert_int_equal(without, 2 * 2); /* inputs of the attention and the feed-forward */
        assert_int_equal(with, 0);
        clf__layer_free(&layer);
    }
    support_free_all();
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rounded_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
