/* Decoding steps with two linear layers per launch against separate launches: equal bits. Groups
 * that stop waiting. */
#include "layers/decoder_case.h"
#include "math/layers/linear_pair.h"
#include "math/ops/arguments.h"
#include "runtime/device/device.h"

/* Few programs: compilers take long for them. */
static const struct layer_case native_cases[] = {
    {2, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {1, 64, 23, 64, 96, 2, 32, 32, 1, 1, 1, 1, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP32, 5},
    {2, 37, 23, 33, 65, 2, 17, 15, 0, 0, 0, 1, CLF__NORM_RMS, CLF__SILU, CLF__PRECISION_INT8, 5},
    {2, 3, 23, 48, 161, 2, 17, 15, 1, 1, 0, 0, CLF__NORM_STD, CLF__GELU_ERF, CLF__PRECISION_INT8, 5},
    {2, 17, 23, 1056, 96, 1, 17, 15, 1, 1, 0, 0, CLF__NORM_STD, CLF__GELU_TANH, CLF__PRECISION_FP16, 5},
    {1, 5, 23, 33, 65, 2, 17, 15, 0, 1, 1, 1, CLF__NORM_LAYER, CLF__SILU, CLF__PRECISION_BF16, 5},
};
static const struct layer_case matrix_cases[] = {
    {2, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 5},
    {2, 37, 23, 96, 161, 2, 17, 15, 0, 1, 1, 1, CLF__NORM_RMS, CLF__SILU, CLF__PRECISION_INT8, 5},
    {2, 17, 90, 64, 200, 2, 32, 32, 1, 1, 1, 1, CLF__NORM_LAYER, CLF__GELU_TANH, CLF__PRECISION_FP16, 5},
    {1, 64, 23, 96, 1060, 2, 17, 15, 1, 0, 0, 1, CLF__NORM_RMS, CLF__SILU, CLF__PRECISION_BF16, 5},
    {2, 64, 23, 96, 1060, 3, 32, 32, 1, 0, 0, 1, CLF__NORM_STD, CLF__RELU, CLF__PRECISION_INT8, 5},
};

/* The layers of a case, their embedding and the tables of a step. */
struct problem {
    const struct layer_case *c;
    struct clf_device *device;
    struct clf__layer layers[MOST_LAYERS];
    struct clf__front_end front_end;
    struct step_tables tables;
};

/* Replaces the feed-forward network by a gated one of half the width. */
static void make_gated(struct clf__feed_forward *feed, struct clf_device *device,
                       struct support_random *random, const struct layer_case *c)
{
    feed->gated = 1;
    feed->width = c->ffn / 2;
    clf__linear_free(&feed->up);
    clf__linear_free(&feed->down);
    make_linear(&feed->up, device, random, c, c->d_model, 2 * feed->width);
    make_linear(&feed->down, device, random, c, feed->width, c->d_model);
}

static void make_problem(struct problem *out, struct clf_device *device, const struct layer_case *c,
                         int is_gated)
{
    struct support_random random = {23 + (uint64_t)c->rows};
    out->c = c;
    out->device = device;
    for (int n = 0; n < c->layers; n++) {
        make_layer(&out->layers[n], device, &random, c);
        if (is_gated) {
            make_gated(&out->layers[n].feed_forward, device, &random, c);
        }
    }
    make_front_end(&out->front_end, device, &random, c, c->precision);
    make_tables(&out->tables, &random, c);
}

static void free_problem(struct problem *problem)
{
    clf__weight_free(problem->front_end.tokens);
    for (int n = 0; n < problem->c->layers; n++) {
        clf__layer_free(&problem->layers[n]);
    }
    support_free_all();
}

/* A step with `pairs`, or with separate launches if it is NULL. */
static float *run_layers(struct problem *problem, struct clf__linear_pairs *pairs)
{
    struct step_run run;
    make_run(&run, problem->layers, &problem->front_end, problem->device, problem->c, &problem->tables);
    for (int i = 0; i < problem->c->layers; i++) {
        run.calls[i].pairs = pairs;
    }
    start_alone(run.workspace.x, &run.start, &run.step);
    assert_ok(clf__decoder_layers_forward(problem->layers, problem->c->layers, &run.workspace, run.calls));
    return read_run(&run, problem->c);
}

static void make_pairs(struct clf__linear_pairs *out, struct clf__arena *arena, const struct problem *problem)
{
    clf__arena_init(arena, problem->device);
    assert_ok(clf__linear_pairs_reserve(out, arena, problem->c->rows, problem->c->d_model));
    assert_ok(clf__arena_allocate(arena));
    assert_non_null(out->counters.buffer);
    assert_ok(clf__linear_pairs_prepare(out));
    out->failed = support_tensor(problem->device, CLF__I32, 1, 3, (int32_t[3]){7, 7, 0});
    out->failed = clf__tensor_columns(out->failed, 2, 1);
}

static int has_failed(const struct clf__linear_pairs *pairs)
{
    int32_t failed = -1;
    assert_ok(clf__tensor_read(pairs->failed, &failed));
    return failed;
}

static void check_counters(const struct clf__linear_pairs *pairs)
{
    int32_t *counters = support_read_integers(pairs->counters);
    for (int i = 0; i < CLF__PAIR_COUNTERS; i++) {
        assert_int_equal(counters[i], 0);
    }
}

static void check_case(struct clf_device *device, const struct layer_case *c, int is_gated)
{
    struct problem problem;
    make_problem(&problem, device, c, is_gated);
    struct clf__linear_pairs pairs;
    struct clf__arena arena;
    make_pairs(&pairs, &arena, &problem);
    float *many = run_layers(&problem, NULL);
    for (int repeat = 0; repeat < 3; repeat++) { /* groups take tasks in another order each time */
        float *few = run_layers(&problem, &pairs);
        assert_int_equal(pairs.is_running, !pairs.is_split);
        assert_memory_equal(few, many, output_count(c) * sizeof *few);
        check_counters(&pairs);
        assert_false(clf__linear_pairs_end(&pairs, has_failed(&pairs)));
        assert_false(pairs.is_running);
    }
    clf__arena_free(&arena);
    free_problem(&problem);
}

/* A group that does not wait disables the launches; all other groups end, and the counters are cleared. */
static void check_failures(struct clf_device *device, const struct layer_case *c)
{
    struct problem problem;
    make_problem(&problem, device, c, 0);
    struct clf__linear_pairs pairs;
    struct clf__arena arena;
    make_pairs(&pairs, &arena, &problem);
    for (pairs.fails_at = 0; pairs.fails_at < 5; pairs.fails_at++) {
        run_layers(&problem, &pairs);
        assert_int_equal(has_failed(&pairs), 1);
        check_counters(&pairs);
        assert_true(clf__linear_pairs_end(&pairs, 1));
        assert_true(device->has_no_linear_pairs);
        run_layers(&problem, &pairs);
        assert_false(pairs.is_running);
        device->has_no_linear_pairs = 0;
        assert_ok(clf__tensor_write(pairs.failed, (int32_t[1]){0}));
    }
    clf__arena_free(&arena);
    free_problem(&problem);
}

static void require_atomics(const struct clf_device *device)
{
    if (!clf__device_caps(device)->has_device_atomics) {
        skip();
    }
}

static void test_native(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_GPU, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    require_atomics(device);
    for (size_t i = 0; i < sizeof native_cases / sizeof *native_cases; i += support_small() ? 2 : 1) {
        check_case(device, &native_cases[i], 0);
    }
    check_case(device, &native_cases[0], 1);
    check_failures(device, &native_cases[0]);
}

static void test_matrix(void **state)
{
    (void)state;
    struct clf_device *device = support_matrix_device();
    require_atomics(device);
    for (size_t i = 0; i < sizeof matrix_cases / sizeof *matrix_cases; i += support_small() ? 2 : 1) {
        check_case(device, &matrix_cases[i], 0);
    }
    check_case(device, &matrix_cases[0], 1);
}

/* A device without device-scope atomics. is_fenced: groups wait with the functions of OpenCL C 1.2, whose
 * order Oclgrind, which has no other atomics, does not know. */
static struct clf_device *open_without_atomics(clf_instructions instructions, int is_fenced)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    options.instructions = instructions;
    assert_ok(clf_device_open(&device, NULL, &options));
    if (is_fenced && !clf__device_caps(device)->has_device_atomics) {
        clf_device_close(device);
        skip();
    }
    support_hide_atomics(device, is_fenced);
    return device;
}

static void test_fenced(void **state)
{
    (void)state;
    struct clf_device *device = open_without_atomics(CLF_INSTRUCTIONS_PORTABLE, 1);
    for (size_t i = 0; i < sizeof native_cases / sizeof *native_cases; i += support_small() ? 2 : 1) {
        check_case(device, &native_cases[i], 0);
    }
    check_failures(device, &native_cases[0]);
    clf_device_close(device);
    device = open_without_atomics(CLF_INSTRUCTIONS_EMULATED, 1);
    for (size_t i = 0; i < 2; i++) {
        check_case(device, &matrix_cases[i], 0);
    }
    clf_device_close(device);
}

/* Groups cannot wait: the norm is part of the launch of the second layer. */
static void test_split(void **state)
{
    (void)state;
    struct clf_device *device = open_without_atomics(CLF_INSTRUCTIONS_PORTABLE, 0);
    static const int few_rows[] = {0, 3, 5}; /* in fp32, int8 and bf16 */
    for (int i = 0; i < 3; i++) {
        assert_in_range(native_cases[few_rows[i]].rows, 1, CLF__SPLIT_ROWS);
        check_case(device, &native_cases[few_rows[i]], i == 0);
    }
    clf_device_close(device);
    device = open_without_atomics(CLF_INSTRUCTIONS_EMULATED, 0);
    check_case(device, &matrix_cases[0], 0);
    struct layer_case int8 = matrix_cases[1];
    int8.rows = CLF__SPLIT_ROWS;
    check_case(device, &int8, 0);
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_native, support_teardown),
        cmocka_unit_test_teardown(test_matrix, support_teardown),
        cmocka_unit_test_teardown(test_fenced, support_teardown),
        cmocka_unit_test_teardown(test_split, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
