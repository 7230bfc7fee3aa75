/* A decoding step of several layers, and the ops before them, in a single launch against separate launches:
 * equal bits. */
#include "layers/decoder_case.h"

static const struct layer_case cases[] = {
    {1, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {2, 1, 23, 40, 33, 2, 24, 40, 1, 0, 0, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_FP32, 5},
    {3, 3, 23, 64, 64, 4, 16, 16, 1, 1, 1, 0, CLF__NORM_RMS, CLF__GELU_ERF, CLF__PRECISION_FP32, 5},
    {4, 8, 23, 48, 128, 3, 16, 16, 0, 0, 0, 0, CLF__NORM_STD, CLF__GELU_TANH, CLF__PRECISION_FP32, 5},
    {1, 9, 23, 33, 65, 2, 17, 15, 0, 1, 0, 1, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {2, 32, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {3, 4, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 5},
    {4, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_BF16, 5},
    {5, 9, 23, 64, 96, 2, 32, 32, 1, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_BF16, 5},
    {1, 9, 23, 33, 65, 2, 17, 15, 1, 1, 0, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_BF16, 5},
    {9, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_INT8, 5},
    {2, 9, 23, 33, 65, 2, 17, 15, 1, 0, 0, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_INT8, 5},
    {3, 32, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_INT8, 5},
    {1, 67, 23, 33, 65, 2, 17, 15, 0, 1, 0, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_FP32, 5},
    {2, 67, 23, 64, 96, 2, 32, 32, 1, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_BF16, 5},
    {2, 300, 23, 36, 161, 2, 18, 18, 1, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_INT8, 5},
    /* Sources whose keys are processed in parts. */
    {2, 1, 800, 64, 96, 3, 32, 24, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {2, 5, 266, 64, 96, 2, 32, 32, 1, 1, 0, 1, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_BF16, 5},
    {3, 30, 600, 33, 65, 2, 17, 15, 0, 1, 0, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_INT8, 5},
};

/* The last layer's output, and the keys and values of all, concatenated, from one launch or many. */
static float *run_layers(const struct clf__layer *layers, const struct clf__front_end *front_end,
                         struct clf_device *device, const struct layer_case *c,
                         const struct step_tables *tables, struct clf__tensor addresses,
                         struct clf__tensor counters)
{
    struct step_run run;
    make_run(&run, layers, front_end, device, c, tables);
    if (addresses.buffer != NULL) {
        assert_ok(clf__decoder_layers_store_addresses(&addresses, layers, run.states, run.memory));
        for (int i = 0; i < c->layers; i++) {
            run.calls[i].addresses = clf__tensor_rows(addresses, i, 1);
            run.calls[i].counters = counters;
        }
    }
    assert_int_equal(clf__decoder_layers_together(layers, c->layers, c->rows, run.calls),
                     addresses.buffer != NULL ? c->layers : 0);
    if (clf__decoder_layers_take_start(layers, c->layers, c->rows, run.calls, &run.start)) {
        assert_non_null(addresses.buffer);
        run.calls[0].start = &run.start;
    } else {
        assert_null(addresses.buffer);
        start_alone(run.workspace.x, &run.start, &run.step);
    }
    assert_ok(clf__decoder_layers_forward(layers, c->layers, &run.workspace, run.calls));
    return read_run(&run, c);
}

/* A device that supports layers in one launch, whatever device is under test; skips if there is none. */
static struct clf_device *open_device(void)
{
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    if (!clf__device_caps(device)->has_device_atomics || !clf__device_caps(device)->has_fixed_addresses) {
        skip();
    }
    return device;
}

static void test_single_launch(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += support_small() ? 3 : 1) {
        const struct layer_case *c = &cases[i];
        struct support_random random = {7 + i};
        struct clf__layer layers[MOST_LAYERS];
        struct step_tables tables;
        for (int n = 0; n < c->layers; n++) {
            make_layer(&layers[n], device, &random, c);
        }
        struct clf__front_end front_end;
        make_front_end(&front_end, device, &random, c, c->precision);
        make_tables(&tables, &random, c);
        int counted = CLF__DECODER_COUNTERS(c->layers);
        int32_t *zeros = support_array((size_t)counted, sizeof *zeros);
        struct clf__tensor counters = support_tensor(device, CLF__I32, 1, counted, zeros);
        struct clf__tensor addresses =
            support_tensor(device, CLF__I32, c->layers, CLF__DECODER_ADDRESSES, NULL);
        const struct clf__tensor none = {.buffer = NULL};
        float *many = run_layers(layers, &front_end, device, c, &tables, none, counters);
        for (int repeat = 0; repeat < 20; repeat++) { /* the groups arrive in another order each time */
            float *one = run_layers(layers, &front_end, device, c, &tables, addresses, counters);
            assert_memory_equal(one, many, output_count(c) * sizeof *one);
            assert_memory_equal(support_read_integers(counters), zeros, (size_t)counted * sizeof *zeros);
        }
        clf__weight_free(front_end.tokens);
        for (int n = 0; n < c->layers; n++) {
            clf__layer_free(&layers[n]);
        }
        support_free_all();
    }
}

/* If one launch is not possible, each op is launched separately. */
static void test_many_launches(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    struct layer_case c = cases[0];
    struct support_random random = {3};
    struct clf__layer layer;
    make_layer(&layer, device, &random, &c);
    struct clf__tensor row = support_tensor(device, CLF__F32, 1, 64, NULL);
    struct clf__tensor addresses = support_tensor(device, CLF__I32, 1, CLF__DECODER_ADDRESSES, NULL),
                       gated = addresses;
    const struct clf__mixer_state kept = {.parts = {row, row}};
    assert_ok(clf__decoder_layers_store_addresses(&addresses, &layer, &kept, &row));
    const struct clf__mixer_step step = {.buffer_index = 0};
    struct clf__attention_call cross = {.few_queries = 1};
    struct clf__layer_call call = {.step = &step, .cross_call = &cross, .addresses = addresses};
    enum clf__tunable tunable = CLF__TUNABLE_STEP_ROWS + c.precision;
    assert_int_equal(clf__decoder_layers_together(&layer, 1, 10000, &call), 1);
    clf__device_set_tunable(device, tunable, 8);
    assert_int_equal(clf__decoder_layers_together(&layer, 1, 8, &call), 1);
    assert_false(clf__decoder_layers_together(&layer, 1, 9, &call));
    clf__device_set_tunable(device, tunable, clf__tunables[tunable].standard);
    struct clf__front_end like, other, frames = {.kind = &clf__frames_front_end};
    make_front_end(&like, device, &random, &c, c.precision);
    make_front_end(&other, device, &random, &c, CLF__PRECISION_INT8);
    struct clf__step_start start = {.front_end = &like};
    assert_true(clf__decoder_layers_take_start(&layer, 1, 8, &call, &start));
    start.front_end = &other;
    assert_false(clf__decoder_layers_take_start(&layer, 1, 8, &call, &start));
    start.front_end = &frames;
    assert_false(clf__decoder_layers_take_start(&layer, 1, 8, &call, &start));
    clf__weight_free(like.tokens);
    clf__weight_free(other.tokens);
    call.step = NULL;
    assert_false(clf__decoder_layers_together(&layer, 1, 1, &call));
    layer.feed_forward.gated = 1;
    assert_ok(clf__decoder_layers_store_addresses(&gated, &layer, &kept, &row));
    assert_null(gated.buffer);
    clf__layer_free(&layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_single_launch, support_teardown),
        cmocka_unit_test_teardown(test_many_launches, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
