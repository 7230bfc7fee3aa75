/* The layers' backward passes, with every dropout on, against central differences of their forward passes. */
#include "layers/decoder_layer.h"
#include "layers/encoder_layer.h"
#include "model/stacks.h"
#include "support/finite_difference.h"
#include "support/support.h"

enum { D = 6, F = 7, HEADS = 2, KEY_WIDTH = 3, VALUE_WIDTH = 2, ROWS = 5, SOURCES = 6 };

static const double step = 1.0 / 32, tolerance = 3e-4;
static const struct clf__heads heads = {HEADS, KEY_WIDTH, VALUE_WIDTH, 0.7f};

/* { first query, queries, first key, keys } of two sequences. */
static const int32_t self_ranges[] = {0, 3, 0, 3, 3, 2, 3, 2};
static const int32_t cross_ranges[] = {0, 3, 0, 4, 3, 2, 4, 2};

static struct clf__linear make_linear(struct clf_device *device, struct support_random *random, int outputs,
                                      int inputs)
{
    struct clf__linear linear;
    struct clf__weight_part part = {support_uniform_array(random, (size_t)outputs * (size_t)inputs, 0.6f),
                                    outputs};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = inputs, .what = "a test's layer"};
    assert_ok(
        clf__linear_create(&linear, device, &source, support_uniform_array(random, (size_t)outputs, 0.5f)));
    return linear;
}

static struct clf__norm make_norm(struct clf_device *device, struct support_random *random)
{
    struct clf__norm norm;
    assert_ok(clf__norm_create(&norm, device, CLF__NORM_LAYER, 1e-5f, D, support_uniform_array(random, D, 1),
                               support_uniform_array(random, D, 1), "a test's norm"));
    return norm;
}

static struct clf__attention_layer make_attention(struct clf_device *device, struct support_random *random,
                                                  int cross)
{
    struct clf__attention_layer layer = {.heads = heads};
    int memory = clf__memory_projection_width(&heads), all = clf__self_projection_width(&heads);
    layer.input = make_linear(device, random, cross ? all - memory : all, D);
    if (cross) {
        layer.memory = make_linear(device, random, memory, D);
    }
    layer.output = make_linear(device, random, D, HEADS * VALUE_WIDTH);
    return layer;
}

static struct clf__feed_forward make_feed_forward(struct clf_device *device, struct support_random *random,
                                                  int gated)
{
    return (struct clf__feed_forward){.up = make_linear(device, random, gated ? 2 * F : F, D),
                                      .down = make_linear(device, random, D, F),
                                      .activation = CLF__SILU,
                                      .width = F,
                                      .gated = gated};
}

static struct clf__dropout dropout(float rate, uint32_t site)
{
    return (struct clf__dropout){.rate = rate, .seed = 5, .step = 3, .site = site};
}

static struct clf__attention_training attention_training(struct clf_device *device, const int32_t *ranges,
                                                         int causal, uint32_t site)
{
    struct clf__attention_training training = {
        .call = {.heads = heads,
                 .ranges = {.table = support_tensor(device, CLF__I32, 2, 4, ranges),
                            .sequences = 2,
                            .max_queries = 3,
                            .max_keys = ranges[3]},
                 .mask = {.causal = causal},
                 .dropout = dropout(0.3f, site)},
        .output = dropout(0.2f, site + 1),
    };
    return training;
}

static void reserve_workspace(struct clf__gradient_workspace *workspace, struct clf__arena *arena)
{
    const struct clf__gradient_sizes sizes = {
        .widths = {.d_model = D,
                   .projected = clf__self_projection_width(&heads),
                   .context = HEADS * VALUE_WIDTH,
                   .hidden = 2 * F},
        .rows = SOURCES,
        .source_rows = SOURCES,
        .activated = F,
        .memory = clf__memory_projection_width(&heads),
        .scratch = 4096,
    };
    assert_ok(clf__gradient_workspace_reserve(workspace, arena, &sizes));
}

/* A weight's array as it lies on the device. */
static struct clf__tensor array_of(const struct clf__weight *weight)
{
    int count = (int)clf__weight_elements(weight);
    return (struct clf__tensor){.buffer = (struct clf__buffer *)clf__weight_layout(weight).buffer,
                                .type = CLF__F32,
                                .rows = 1,
                                .columns = count,
                                .stride = count};
}

static void check_tensor(const struct support_function *function, struct clf__tensor x,
                         struct clf__tensor gradient)
{
    support_check_gradient(function, x, support_read(gradient), step, tolerance);
}

static void check_linear(const struct support_function *function, const struct clf__linear *linear,
                         const struct clf__linear *gradient)
{
    int outputs = clf__weight_outputs(linear->weight);
    struct clf__tensor bias = {
        .buffer = linear->bias, .type = CLF__F32, .rows = 1, .columns = outputs, .stride = outputs};
    struct clf__tensor dbias = bias;
    dbias.buffer = gradient->bias;
    check_tensor(function, array_of(linear->weight), array_of(gradient->weight));
    check_tensor(function, bias, dbias);
}

static void check_norm(const struct support_function *function, const struct clf__norm *norm,
                       const struct clf__norm *gradient)
{
    check_tensor(function, norm->gamma, gradient->gamma);
    check_tensor(function, norm->beta, gradient->beta);
}

static void check_attention(const struct support_function *function, const struct clf__attention_layer *layer,
                            const struct clf__attention_layer *gradient)
{
    check_linear(function, &layer->input, &gradient->input);
    check_linear(function, &layer->output, &gradient->output);
    if (layer->memory.weight != NULL) {
        check_linear(function, &layer->memory, &gradient->memory);
    }
}

static void check_feed_forward(const struct support_function *function, const struct clf__feed_forward *layer,
                               const struct clf__feed_forward *gradient)
{
    check_linear(function, &layer->up, &gradient->up);
    check_linear(function, &layer->down, &gradient->down);
}

struct encoder_case {
    struct clf__encoder_layer layer, gradient;
    struct clf__encoder_layer_record record;
    struct clf__encoder_layer_training training;
    struct clf__gradient_workspace workspace;
    struct clf__tensor x;
};

static void run_encoder(void *context)
{
    const struct encoder_case *its = context;
    assert_ok(clf__encoder_layer_record(&its->layer, its->x, &its->record, &its->workspace, &its->training));
}

static void check_encoder_layer(struct clf_device *device, int norm_first)
{
    struct support_random random = {11};
    struct clf__arena arena;
    clf__arena_init(&arena, device);
    struct encoder_case its = {
        .layer = {.self_attention = make_attention(device, &random, 0),
                  .self_attention_norm = make_norm(device, &random),
                  .feed_forward = make_feed_forward(device, &random, 0),
                  .feed_forward_norm = make_norm(device, &random),
                  .norm_first = norm_first},
        .training = {.self_attention = attention_training(device, self_ranges, 0, 1),
                     .feed_forward = {dropout(0.25f, 3), dropout(0.15f, 4)}},
        .x = support_tensor(device, CLF__F32, ROWS, D, support_uniform_array(&random, ROWS * D, 1)),
    };
    assert_ok(clf__encoder_layer_create_zero(&its.gradient, &its.layer));
    assert_ok(clf__encoder_layer_record_reserve(&its.record, &arena, &its.layer, ROWS));
    reserve_workspace(&its.workspace, &arena);
    assert_ok(clf__arena_allocate(&arena));
    its.workspace = clf__gradient_workspace_rows(&its.workspace, ROWS, SOURCES);
    float *dy = support_uniform_array(&random, ROWS * D, 1);
    const struct support_function function = {run_encoder, &its, its.record.feed_forward_sums.y, dy};
    run_encoder(&its);
    assert_ok(clf__tensor_write(its.workspace.x, dy));
    assert_ok(clf__encoder_layer_backward(&its.gradient, &its.layer, its.x, &its.record, &its.workspace,
                                          &its.training));
    check_tensor(&function, its.x, its.workspace.x);
    if (!support_small()) {
        check_attention(&function, &its.layer.self_attention, &its.gradient.self_attention);
        check_norm(&function, &its.layer.self_attention_norm, &its.gradient.self_attention_norm);
        check_feed_forward(&function, &its.layer.feed_forward, &its.gradient.feed_forward);
        check_norm(&function, &its.layer.feed_forward_norm, &its.gradient.feed_forward_norm);
    }
    clf__encoder_layer_free(&its.layer);
    clf__encoder_layer_free(&its.gradient);
    clf__arena_free(&arena);
}

struct decoder_case {
    struct clf__decoder_layer layer, gradient;
    struct clf__decoder_layer_record record;
    struct clf__decoder_layer_training training;
    struct clf__gradient_workspace workspace;
    struct clf__tensor x;
};

static void run_decoder(void *context)
{
    const struct decoder_case *its = context;
    assert_ok(clf__decoder_layer_record(&its->layer, its->x, &its->record, &its->workspace, &its->training));
}

static void check_decoder_layer(struct clf_device *device, int norm_first)
{
    struct support_random random = {12};
    struct clf__arena arena;
    clf__arena_init(&arena, device);
    struct decoder_case its = {
        .layer = {.mixer = {&clf__self_attention_mixer, make_attention(device, &random, 0)},
                  .mixer_norm = make_norm(device, &random),
                  .cross_attention = make_attention(device, &random, 1),
                  .cross_attention_norm = make_norm(device, &random),
                  .feed_forward = make_feed_forward(device, &random, 1),
                  .feed_forward_norm = make_norm(device, &random),
                  .norm_first = norm_first},
        .training = {.mixer = attention_training(device, self_ranges, 1, 1),
                     .cross_attention = attention_training(device, cross_ranges, 0, 3),
                     .feed_forward = {dropout(0.25f, 5), dropout(0.15f, 6)},
                     .encoded = {.x = support_tensor(device, CLF__F32, SOURCES, D,
                                                     support_uniform_array(&random, SOURCES * D, 1)),
                                 .dx = support_tensor(device, CLF__F32, SOURCES, D, NULL)}},
        .x = support_tensor(device, CLF__F32, ROWS, D, support_uniform_array(&random, ROWS * D, 1)),
    };
    assert_ok(clf__decoder_layer_create_zero(&its.gradient, &its.layer));
    assert_ok(clf__decoder_layer_record_reserve(&its.record, &arena, &its.layer, ROWS, SOURCES));
    reserve_workspace(&its.workspace, &arena);
    assert_ok(clf__arena_allocate(&arena));
    its.workspace = clf__gradient_workspace_rows(&its.workspace, ROWS, SOURCES);
    float *dy = support_uniform_array(&random, ROWS * D, 1);
    const struct support_function function = {run_decoder, &its, its.record.feed_forward_sums.y, dy};
    run_decoder(&its);
    assert_ok(clf__tensor_write(its.workspace.x, dy));
    assert_ok(clf__decoder_layer_backward(&its.gradient, &its.layer, its.x, &its.record, &its.workspace,
                                          &its.training));
    check_tensor(&function, its.x, its.workspace.x);
    check_tensor(&function, its.training.encoded.x, its.training.encoded.dx);
    if (!support_small()) {
        check_attention(&function, &its.layer.mixer.attention, &its.gradient.mixer.attention);
        check_norm(&function, &its.layer.mixer_norm, &its.gradient.mixer_norm);
        check_attention(&function, &its.layer.cross_attention, &its.gradient.cross_attention);
        check_norm(&function, &its.layer.cross_attention_norm, &its.gradient.cross_attention_norm);
        check_feed_forward(&function, &its.layer.feed_forward, &its.gradient.feed_forward);
        check_norm(&function, &its.layer.feed_forward_norm, &its.gradient.feed_forward_norm);
    }
    clf__decoder_layer_free(&its.layer);
    clf__decoder_layer_free(&its.gradient);
    clf__arena_free(&arena);
}

static void test_encoder_layer(void **state)
{
    (void)state;
    FOR_EACH_FORM(device)
    {
        for (int norm_first = support_small() ? 1 : 0; norm_first < 2; norm_first++) {
            check_encoder_layer(device, norm_first);
        }
    }
}

static void test_decoder_layer(void **state)
{
    (void)state;
    FOR_EACH_FORM(device)
    {
        for (int norm_first = support_small() ? 1 : 0; norm_first < 2; norm_first++) {
            check_decoder_layer(device, norm_first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_encoder_layer, support_teardown),
        cmocka_unit_test_teardown(test_decoder_layer, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
