/* The layers' backward passes, with every dropout enabled, against central differences of their forward
   passes. */
#include "math/layers/layer.h"
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

/* A weight's array as stored on the device. */
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

struct layer_case {
    struct clf__layer layer, gradient;
    struct clf__layer_record record;
    struct clf__layer_training training;
    struct clf__gradient_workspace workspace;
    struct clf__tensor x;
};

static void run(void *context)
{
    const struct layer_case *its = context;
    assert_ok(clf__layer_record(&its->layer, its->x, &its->record, &its->workspace, &its->training));
}

struct zeroing {
    struct clf__stack out, like;
    struct clf__pool pool;
};

static clf_status reserve_zero(void *context, const struct clf__module *module)
{
    struct zeroing *zeroing = context;
    void *out = clf__tree_module(module, (struct clf__stacks){.decoder = &zeroing->out});
    const void *like = clf__tree_module(module, (struct clf__stacks){.decoder = &zeroing->like});
    if (module->kind == CLF__MODULE_NORM) {
        const struct clf__norm *norm = like;
        return norm->gamma.buffer ? clf__norm_reserve_zero(out, &zeroing->pool, norm, "a test") : CLF_OK;
    }
    const struct clf__linear *linear = like;
    return linear->weight ? clf__linear_reserve_zero(out, &zeroing->pool, linear, NULL, "a test") : CLF_OK;
}

/* Zeros of the layer's sizes, for its gradients. */
static void create_zero(struct clf__layer *out, const struct clf__layer *like, struct clf_device *device)
{
    struct zeroing zeroing = {
        .out.layers = out, .like.layers = (struct clf__layer *)like, .pool.device = device};
    *out = (struct clf__layer){.mixer = {.kind = &clf__self_attention_mixer, .attention = {.heads = heads}},
                               .feed_forward = {.activation = like->feed_forward.activation,
                                                .width = like->feed_forward.width,
                                                .gated = like->feed_forward.gated},
                               .norm_first = like->norm_first};
    assert_ok(clf__tree_visit_layer(reserve_zero, &zeroing));
    assert_ok(clf__pool_allocate(&zeroing.pool, "a test's gradients"));
    clf__pool_free(&zeroing.pool);
}

/* A decoder layer is gated, and attends to the encoder's output. */
static void check_layer(struct clf_device *device, int is_decoder, int norm_first)
{
    struct support_random random = {11};
    struct clf__arena arena;
    clf__arena_init(&arena, device);
    struct layer_case its = {
        .layer = {.mixer = {.kind = &clf__self_attention_mixer,
                            .attention = make_attention(device, &random, 0)},
                  .mixer_norm = make_norm(device, &random),
                  .feed_forward = make_feed_forward(device, &random, is_decoder),
                  .feed_forward_norm = make_norm(device, &random),
                  .norm_first = norm_first},
        .training = {.mixer = attention_training(device, self_ranges, is_decoder, 1),
                     .feed_forward = {dropout(0.25f, 5), dropout(0.15f, 6)}},
        .x = support_tensor(device, CLF__F32, ROWS, D, support_uniform_array(&random, ROWS * D, 1)),
    };
    if (is_decoder) {
        its.layer.cross_attention = make_attention(device, &random, 1);
        its.layer.cross_attention_norm = make_norm(device, &random);
        its.training.cross_attention = attention_training(device, cross_ranges, 0, 3);
        its.training.encoded.x =
            support_tensor(device, CLF__F32, SOURCES, D, support_uniform_array(&random, SOURCES * D, 1));
        its.training.encoded.dx = support_tensor(device, CLF__F32, SOURCES, D, NULL);
    }
    create_zero(&its.gradient, &its.layer, device);
    assert_ok(clf__layer_record_reserve(&its.record, &arena, &its.layer, ROWS, SOURCES));
    reserve_workspace(&its.workspace, &arena);
    assert_ok(clf__arena_allocate(&arena));
    its.workspace = clf__gradient_workspace_rows(&its.workspace, ROWS, SOURCES);
    float *dy = support_uniform_array(&random, ROWS * D, 1);
    const struct support_function function = {run, &its, its.record.feed_forward_sums.y, dy};
    run(&its);
    assert_ok(clf__tensor_write(its.workspace.x, dy));
    assert_ok(
        clf__layer_backward(&its.gradient, &its.layer, its.x, &its.record, &its.workspace, &its.training));
    check_tensor(&function, its.x, its.workspace.x);
    if (is_decoder) {
        check_tensor(&function, its.training.encoded.x, its.training.encoded.dx);
    }
    if (!support_small()) {
        check_attention(&function, &its.layer.mixer.attention, &its.gradient.mixer.attention);
        check_norm(&function, &its.layer.mixer_norm, &its.gradient.mixer_norm);
        check_feed_forward(&function, &its.layer.feed_forward, &its.gradient.feed_forward);
        check_norm(&function, &its.layer.feed_forward_norm, &its.gradient.feed_forward_norm);
    }
    if (!support_small() && is_decoder) {
        check_attention(&function, &its.layer.cross_attention, &its.gradient.cross_attention);
        check_norm(&function, &its.layer.cross_attention_norm, &its.gradient.cross_attention_norm);
    }
    clf__layer_free(&its.layer);
    clf__layer_free(&its.gradient);
    clf__arena_free(&arena);
}

static void check_both_places_of_the_norm(int is_decoder)
{
    FOR_EACH_VARIANT(device)
    {
        for (int norm_first = support_small() ? 1 : 0; norm_first < 2; norm_first++) {
            check_layer(device, is_decoder, norm_first);
        }
    }
}

static void test_encoder_layer(void **state)
{
    (void)state;
    check_both_places_of_the_norm(0);
}

static void test_decoder_layer(void **state)
{
    (void)state;
    check_both_places_of_the_norm(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_encoder_layer, support_teardown),
        cmocka_unit_test_teardown(test_decoder_layer, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
