/* Checks of a decoder layer with one new token per row. For a few rows, some devices run the layer in a
 * single launch. */
#include <string.h>

#include "math/layers/layer.h"
#include "math/ops/cache.h"
#include "model/stacks.h"
#include "reference/attention.h"
#include "reference/gemm.h"
#include "reference/layernorm.h"
#include "selftest/selftest.h"

enum { ROWS = 3, D = 40, F = 65, HEADS = 2, KEY_WIDTH = 17, VALUE_WIDTH = 24 };
enum { KEYS = HEADS * KEY_WIDTH, VALUES = HEADS * VALUE_WIDTH, POSITIONS = 5, MEMORY_ROWS = 11 };
static const float score_scale = 0.25f, epsilon = 1e-5f;

/* In the order of the layer: input and output projections of both attentions, then both layers of the
 * feed-forward network. */
enum { SELF_INPUT, SELF_OUTPUT, CROSS_INPUT, CROSS_OUTPUT, UP, DOWN, LINEARS };
static const int shapes[LINEARS][2] = {
    {2 * KEYS + VALUES, D}, {D, VALUES}, {KEYS, D}, {D, VALUES}, {F, D}, {D, F}};

/* A post-norm layer and the inputs of a step, on the host. Each row has a separate history. */
struct step {
    const float *weights[LINEARS], *biases[LINEARS];
    const float *gammas[3], *betas[3];
    const float *x;             /* (ROWS, D) */
    const float *keys, *values; /* (ROWS * POSITIONS, ..), ordered by cache row */
    const float *memory;        /* (MEMORY_ROWS, KEYS + VALUES) */
};
static const int32_t cache_rows[ROWS] = {2, 0, 1}, positions[ROWS] = {0, 4, 2};
static const int32_t cross_ranges[2 * 4] = {0, 2, 0, 7, 2, 1, 7, 4};

static struct step make_step(struct trial *trial)
{
    struct step step = {.x = trial_uniform(trial, ROWS * D, 1.0f)};
    for (int i = 0; i < LINEARS; i++) {
        int outputs = shapes[i][0], inputs = shapes[i][1];
        step.weights[i] = trial_uniform(trial, (size_t)outputs * (size_t)inputs, 0.3f);
        step.biases[i] = trial_uniform(trial, (size_t)outputs, 0.5f);
    }
    for (int i = 0; i < 3; i++) {
        step.gammas[i] = trial_uniform(trial, D, 1.0f);
        step.betas[i] = trial_uniform(trial, D, 1.0f);
    }
    step.keys = trial_uniform(trial, ROWS * POSITIONS * KEYS, 1.0f);
    step.values = trial_uniform(trial, ROWS * POSITIONS * VALUES, 1.0f);
    step.memory = trial_uniform(trial, MEMORY_ROWS * (KEYS + VALUES), 1.0f);
    return step;
}

/* ---- the layer in double precision, operation by operation ---- */

static void multiply(float *y, const float *x, const struct step *step, int product,
                     enum clf__activation activation, const float *residual)
{
    int outputs = shapes[product][0], inputs = shapes[product][1];
    double row[2 * KEYS + VALUES + F];
    for (int r = 0; r < ROWS; r++) {
        reference_gemm_row(row, x + r * inputs, step->weights[product], outputs, inputs, 1.0,
                           step->biases[product], activation, residual ? residual + r * outputs : NULL);
        for (int n = 0; n < outputs; n++) {
            y[r * outputs + n] = (float)row[n];
        }
    }
}

static void normalise(float *x, const float *sums, const struct step *step, int norm)
{
    double rows[ROWS * D];
    reference_layernorm(rows, sums, step->gammas[norm], step->betas[norm], ROWS, D, CLF__NORM_LAYER,
                        (double)epsilon);
    for (int i = 0; i < ROWS * D; i++) {
        x[i] = (float)rows[i];
    }
}

/* Computes context (ROWS, VALUES) from key_rows rows of keys and values. */
static void attend(float *context, const float *query, const float *keys, const float *values, int sequences,
                   const int32_t *ranges, int max_queries, int max_keys)
{
    const struct reference_attention problem = {.heads = HEADS,
                                                .key_width = KEY_WIDTH,
                                                .value_width = VALUE_WIDTH,
                                                .scale = (double)score_scale,
                                                .sequences = sequences,
                                                .max_queries = max_queries,
                                                .max_keys = max_keys,
                                                .ranges = ranges};
    double rows[ROWS * VALUES];
    reference_attention_forward(rows, NULL, query, keys, values, &problem);
    for (int i = 0; i < ROWS * VALUES; i++) {
        context[i] = (float)rows[i];
    }
}

/* Computes attention of each row to its cache row, up to the row's position. */
static void attend_history(float *context, const float *projected, const struct step *step)
{
    float query[ROWS * KEYS], keys[ROWS * POSITIONS * KEYS], values[ROWS * POSITIONS * VALUES];
    int32_t ranges[ROWS * 4];
    memcpy(keys, step->keys, sizeof keys);
    memcpy(values, step->values, sizeof values);
    for (int r = 0; r < ROWS; r++) {
        const float *row = projected + r * (2 * KEYS + VALUES);
        int first = cache_rows[r] * POSITIONS, own = first + positions[r];
        memcpy(query + r * KEYS, row, KEYS * sizeof *row);
        memcpy(keys + own * KEYS, row + KEYS, KEYS * sizeof *row);
        memcpy(values + own * VALUES, row + 2 * KEYS, VALUES * sizeof *row);
        memcpy(ranges + 4 * r, (int32_t[4]){r, 1, first, positions[r] + 1}, 4 * sizeof *ranges);
    }
    attend(context, query, keys, values, ROWS, ranges, 1, POSITIONS);
}

static void attend_memory(float *context, const float *query, const struct step *step)
{
    float keys[MEMORY_ROWS * KEYS], values[MEMORY_ROWS * VALUES];
    for (int i = 0; i < MEMORY_ROWS; i++) {
        const float *row = step->memory + i * (KEYS + VALUES);
        memcpy(keys + i * KEYS, row, KEYS * sizeof *row);
        memcpy(values + i * VALUES, row + KEYS, VALUES * sizeof *row);
    }
    attend(context, query, keys, values, 2, cross_ranges, 2, MEMORY_ROWS);
}

static void expect(double *expected, const struct step *step)
{
    float x[ROWS * D], sums[ROWS * D], projected[ROWS * (2 * KEYS + VALUES)], query[ROWS * KEYS];
    float context[ROWS * VALUES], hidden[ROWS * F];
    multiply(projected, step->x, step, SELF_INPUT, CLF__IDENTITY, NULL);
    attend_history(context, projected, step);
    multiply(sums, context, step, SELF_OUTPUT, CLF__IDENTITY, step->x);
    normalise(x, sums, step, 0);
    multiply(query, x, step, CROSS_INPUT, CLF__IDENTITY, NULL);
    attend_memory(context, query, step);
    multiply(sums, context, step, CROSS_OUTPUT, CLF__IDENTITY, x);
    normalise(x, sums, step, 1);
    multiply(hidden, x, step, UP, CLF__RELU, NULL);
    multiply(sums, hidden, step, DOWN, CLF__IDENTITY, x);
    normalise(x, sums, step, 2);
    for (int i = 0; i < ROWS * D; i++) {
        expected[i] = (double)x[i];
    }
}

/* ---- on the device ---- */

static void make_layer(struct clf__layer *layer, struct trial *trial, const struct step *step,
                       enum clf__precision precision)
{
    struct clf__heads heads = {HEADS, KEY_WIDTH, VALUE_WIDTH, score_scale};
    *layer = (struct clf__layer){.mixer = {.kind = &clf__self_attention_mixer, .attention.heads = heads},
                                 .cross_attention.heads = heads,
                                 .feed_forward = {.activation = CLF__RELU, .width = F}};
    struct clf__linear *linears[LINEARS] = {&layer->mixer.attention.input, &layer->mixer.attention.output,
                                            &layer->cross_attention.input, &layer->cross_attention.output,
                                            &layer->feed_forward.up,       &layer->feed_forward.down};
    for (int i = 0; i < LINEARS; i++) {
        struct clf__weight_part part = {step->weights[i], shapes[i][0]};
        struct clf__weight_source source = {&part, 1, shapes[i][1], precision, "the self-test"};
        RUN(trial, clf__linear_create(linears[i], trial->device, &source, step->biases[i]));
    }
    struct clf__norm *norms[] = {&layer->mixer_norm, &layer->cross_attention_norm, &layer->feed_forward_norm};
    for (int i = 0; i < 3; i++) {
        RUN(trial, clf__norm_create(norms[i], trial->device, CLF__NORM_LAYER, epsilon, D, step->gammas[i],
                                    step->betas[i], "the self-test"));
    }
}

/* The tensors of a step. */
struct device_step {
    struct clf__workspace workspace;
    struct clf__mixer_step step;
    struct clf__mixer_state state, shared;
    struct clf__attention_call cross;
    struct clf__attention_scratch scratch;
    struct clf__arena arena; /* buffers of the scratch */
    struct clf__layer_call call;
    struct clf__tensor addresses;
};

static void place_step(struct device_step *out, struct trial *trial, const struct step *step,
                       const struct clf__layer *layer, enum clf__precision precision)
{
    enum clf__type type = clf__cache_type(precision);
    struct clf__heads heads = {HEADS, KEY_WIDTH, VALUE_WIDTH, score_scale};
    int32_t table[ROWS * POSITIONS];
    for (int i = 0; i < ROWS * POSITIONS; i++) {
        table[i] = i / POSITIONS;
    }
    int32_t *zeros = trial_array(trial, CLF__DECODER_COUNTERS(1), sizeof *zeros);
    out->workspace = (struct clf__workspace){
        .x = trial_floats(trial, ROWS, D, NULL),
        .normed = trial_floats(trial, ROWS, D, NULL),
        .projected = trial_floats(trial, ROWS, 2 * KEYS + VALUES, NULL),
        .context = trial_floats(trial, ROWS, VALUES, NULL),
        .hidden = trial_floats(trial, ROWS, F, NULL),
    };
    out->state.parts[0] = trial_tensor(trial, type, ROWS * POSITIONS, KEYS, step->keys);
    out->state.parts[1] = trial_tensor(trial, type, ROWS * POSITIONS, VALUES, step->values);
    out->shared.parts[0] = trial_tensor(trial, CLF__I32, ROWS, POSITIONS, table);
    out->step = (struct clf__mixer_step){
        .cache_rows = trial_tensor(trial, CLF__I32, 1, ROWS, cache_rows),
        .positions = trial_tensor(trial, CLF__I32, 1, ROWS, positions),
        .shared = &out->shared,
    };
    out->cross = (struct clf__attention_call){
        .heads = heads,
        .ranges = {trial_tensor(trial, CLF__I32, 2, 4, cross_ranges), 2, 2, MEMORY_ROWS, 0, 0},
        .mask = CLF__MASK_NONE,
        .scratch = &out->scratch,
        .few_queries = 1,
    };
    clf__arena_init(&out->arena, trial->device);
    RUN(trial, clf__attention_scratch_reserve(&out->scratch, &out->arena, 2, &heads, 2, MEMORY_ROWS));
    RUN(trial, clf__arena_allocate(&out->arena));
    out->call = (struct clf__layer_call){
        .step = &out->step,
        .state = &out->state,
        .cross_call = &out->cross,
        .memory = trial_tensor(trial, type, MEMORY_ROWS, KEYS + VALUES, step->memory),
    };
    out->call.counters = trial_tensor(trial, CLF__I32, 1, CLF__DECODER_COUNTERS(1), zeros);
    out->addresses = trial_tensor(trial, CLF__I32, 1, CLF__DECODER_ADDRESSES, NULL);
    RUN(trial, clf__decoder_layers_store_addresses(&out->addresses, layer, &out->state, &out->call.memory));
}

/* Runs the layer with one launch per op, or with in_one 1 in a single launch if the device supports it. Each
 * run writes the keys and values of the step again. */
static void run_layer(struct trial *trial, const struct clf__layer *layer, struct device_step *device_step,
                      const struct step *step, int in_one)
{
    device_step->call.addresses = in_one ? device_step->addresses : (struct clf__tensor){.buffer = NULL};
    RUN(trial, clf__tensor_write(device_step->workspace.x, step->x));
    RUN(trial, clf__decoder_layers_forward(layer, 1, &device_step->workspace, &device_step->call));
}

/* Compares the results of the device with the formulas. */
static void decoder_layer(struct trial *trial)
{
    struct step step = make_step(trial);
    struct clf__layer layer;
    struct device_step device_step;
    double expected[ROWS * D];
    expect(expected, &step);
    make_layer(&layer, trial, &step, CLF__PRECISION_FP32);
    place_step(&device_step, trial, &step, &layer, CLF__PRECISION_FP32);
    for (int in_one = 0; in_one < 2; in_one++) {
        run_layer(trial, &layer, &device_step, &step, in_one);
        trial_compare(trial, device_step.workspace.x, expected);
    }
    clf__arena_free(&device_step.arena);
    clf__layer_free(&layer);
}

/* Checks that a single launch and one launch per op give bit-identical results. */
static void decoder_layer_rounded(struct trial *trial)
{
    for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_INT8; precision++) {
        struct step step = make_step(trial);
        struct clf__layer layer;
        struct device_step device_step;
        float x[ROWS * D] = {0};
        double expected[ROWS * D];
        make_layer(&layer, trial, &step, (enum clf__precision)precision);
        place_step(&device_step, trial, &step, &layer, (enum clf__precision)precision);
        run_layer(trial, &layer, &device_step, &step, 0);
        RUN(trial, clf__tensor_read(device_step.workspace.x, x));
        for (int i = 0; i < ROWS * D; i++) {
            expected[i] = (double)x[i];
        }
        run_layer(trial, &layer, &device_step, &step, 1);
        trial_compare(trial, device_step.workspace.x, expected);
        clf__arena_free(&device_step.arena);
        clf__layer_free(&layer);
        trial_release(trial);
    }
}

const struct check selftest_layer_checks[] = {
    {"decoder layer, one step", USES_ATTENTION, CLF__PRECISION_FP32, 1e-5, decoder_layer},
    {"decoder layer, 16/8 bit", USES_GEMM | USES_PRECISION, CLF__PRECISION_FP32, 0.0, decoder_layer_rounded},
    {.name = NULL},
};
