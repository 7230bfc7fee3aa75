/* Decoding steps in one persistent launch against separate launches: equal bits. Groups that stop waiting. */
#include "layers/decoder_case.h"
#include "math/layers/persistent.h"
#include "runtime/device/device.h"
#include "runtime/device/exclusive.h"

/* Few programs: compilers take long for them. */
static const struct layer_case cases[] = {
    {1, 1, 23, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 5},
    {2, 17, 90, 64, 200, 2, 32, 32, 1, 1, 1, 1, CLF__NORM_LAYER, CLF__GELU_TANH, CLF__PRECISION_FP16, 5},
    {1, 64, 140, 256, 1060, 3, 32, 32, 0, 1, 0, 1, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 5},
    {3, 33, 23, 32, 33, 2, 17, 15, 1, 0, 0, 1, CLF__NORM_RMS, CLF__SILU, CLF__PRECISION_BF16, 5},
    {2, 5, 23, 96, 161, 2, 17, 15, 0, 0, 1, 0, CLF__NORM_RMS, CLF__GELU_ERF, CLF__PRECISION_BF16, 5},
    {1, 3, 23, 1056, 4200, 1, 17, 15, 1, 1, 0, 0, CLF__NORM_STD, CLF__RELU, CLF__PRECISION_BF16, 5},
    {2, 37, 23, 96, 161, 2, 17, 15, 0, 1, 1, 1, CLF__NORM_RMS, CLF__SILU, CLF__PRECISION_INT8, 5},
    {1, 3, 23, 1056, 4200, 1, 17, 15, 1, 1, 0, 0, CLF__NORM_STD, CLF__GELU_ERF, CLF__PRECISION_INT8, 5},
    /* Sources and targets whose keys are processed in parts, which groups share if there are few rows. */
    {2, 1, 523, 96, 161, 2, 17, 15, 0, 0, 0, 1, CLF__NORM_RMS, CLF__GELU_ERF, CLF__PRECISION_BF16, 5},
    {2, 5, 700, 64, 96, 2, 32, 32, 0, 1, 1, 1, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 600},
    {1, 3, 23, 96, 161, 2, 17, 15, 0, 0, 1, 0, CLF__NORM_RMS, CLF__GELU_ERF, CLF__PRECISION_BF16, 300},
    {1, 34, 300, 64, 96, 2, 32, 32, 0, 1, 0, 0, CLF__NORM_LAYER, CLF__RELU, CLF__PRECISION_FP16, 300},
};

/* The layers of a case, their embedding and the tables of a step. */
struct problem {
    const struct layer_case *c;
    struct clf_device *device;
    struct clf__layer layers[MOST_LAYERS];
    struct clf__front_end front_end;
    struct step_tables tables;
};

static void make_problem(struct problem *out, struct clf_device *device, const struct layer_case *c)
{
    struct support_random random = {17 + (uint64_t)c->rows};
    out->c = c;
    out->device = device;
    for (int n = 0; n < c->layers; n++) {
        make_layer(&out->layers[n], device, &random, c);
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

static void run_forward(struct problem *problem, struct step_run *run)
{
    start_alone(run->workspace.x, &run->start, &run->step);
    assert_ok(clf__decoder_layers_forward(problem->layers, problem->c->layers, &run->workspace, run->calls));
}

static uint16_t *read_operands(struct clf__tensor tensor)
{
    uint16_t *operands = support_array((size_t)tensor.rows * (size_t)tensor.columns, sizeof *operands);
    assert_ok(clf__tensor_read(tensor, operands));
    return operands;
}

/* Separate launches, in which several groups may share the keys of a row if is_split. *rounded receives the
 * rounded output of the last norm. */
static float *run_launches(struct problem *problem, int is_split, uint16_t **rounded)
{
    struct step_run run;
    make_run(&run, problem->layers, &problem->front_end, problem->device, problem->c, &problem->tables);
    if (!is_split) {
        run.cross.partials = run.step.partials = CLF__NO_TENSOR;
    }
    run_forward(problem, &run);
    *rounded = read_operands(run.workspace.rounded);
    return read_run(&run, problem->c);
}

/* Persistent launches with a stage after which a group stops waiting (-1: none). */
struct persistent_run {
    struct step_run run;
    struct clf__arena arena;
    struct clf__persistent persistent;
};

static void make_persistent(struct persistent_run *out, struct problem *problem)
{
    const struct layer_case *c = problem->c;
    make_run(&out->run, problem->layers, &problem->front_end, problem->device, c, &problem->tables);
    out->persistent = (struct clf__persistent){.arrived = -3}; /* the counter overflows */
    clf__arena_init(&out->arena, problem->device);
    assert_ok(clf__persistent_reserve(&out->persistent, &out->arena, problem->layers, c->layers, c->rows));
    assert_ok(clf__arena_allocate(&out->arena));
    out->persistent.failed = support_tensor(problem->device, CLF__I32, 1, 3, (int32_t[3]){7, 7, 0});
    out->persistent.failed = clf__tensor_columns(out->persistent.failed, 2, 1);
    assert_ok(clf__persistent_prepare(&out->persistent, problem->layers, c->layers, out->run.states,
                                      out->run.memory));
    assert_non_null(out->persistent.stages.buffer);
    assert_ok(clf__tensor_write(clf__tensor_columns(out->persistent.arrivals, 0, 1), (int32_t[1]){-3}));
    for (int i = 0; i < c->layers; i++) {
        out->run.calls[i].persistent = &out->persistent;
        out->run.calls[i].layer = i;
    }
}

static int has_failed(const struct persistent_run *run)
{
    int32_t failed = -1;
    assert_ok(clf__tensor_read(run->persistent.failed, &failed));
    return failed;
}

/* A device that supports persistent launches, whatever device is under test; skips if there is none. */
static struct clf_device *open_device(void)
{
    struct clf_device *device = support_matrix_device();
    if (!clf__device_caps(device)->has_device_atomics ||
        clf__device_caps(device)->max_work_group < CLF__STAGE_GROUP) {
        skip();
    }
    return device;
}

/* Returns whether groups shared keys, after which their counters are zero again. */
static int has_split(const struct persistent_run *run, const struct problem *problem)
{
    const struct clf__attention_call *cross = &run->run.cross;
    struct clf__tensor arrivals = run->persistent.arrivals;
    int32_t *counters = support_read_integers(arrivals);
    for (int i = CLF__ARRIVALS; i < arrivals.columns; i++) {
        assert_int_equal(counters[i], 0);
    }
    return clf__attention_split(problem->device, &cross->heads, problem->c->rows, problem->c->memory,
                                cross->partials) > 1;
}

static void test_same_bits(void **state)
{
    (void)state;
    struct clf_device *device = open_device();
    int splits = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += support_small() ? 3 : 1) {
        struct problem problem;
        make_problem(&problem, device, &cases[i]);
        uint16_t *rounded;
        float *many = run_launches(&problem, 0, &rounded);
        assert_memory_equal(run_launches(&problem, 1, &rounded), many,
                            output_count(&cases[i]) * sizeof *many);
        for (int repeat = 0; repeat < 3; repeat++) { /* groups arrive in another order each time */
            struct persistent_run one;
            make_persistent(&one, &problem);
            run_forward(&problem, &one.run);
            assert_true(one.persistent.is_running);
            float *all = read_run(&one.run, &cases[i]);
            assert_memory_equal(all, many, output_count(&cases[i]) * sizeof *all);
            struct clf__tensor left = one.run.workspace.rounded;
            assert_memory_equal(read_operands(left), rounded,
                                (size_t)(left.rows * left.columns) * sizeof(uint16_t));
            assert_false(clf__persistent_end(&one.persistent, has_failed(&one)));
            splits += has_split(&one, &problem);
            clf__arena_free(&one.arena);
        }
        free_problem(&problem);
    }
    assert_true(splits > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_bits, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
