/* Decoding steps of random layers, for the tests that run them in one launch and in many. */
#ifndef CLF_TESTS_LAYERS_DECODER_CASE_H
#define CLF_TESTS_LAYERS_DECODER_CASE_H

#include <string.h>

#include "math/gemm/layout.h"
#include "math/layers/layer.h"
#include "math/ops/cache.h"
#include "model/stacks.h"
#include "runtime/device/caps.h"
#include "support/support.h"

enum { MAX_REACH = 2, MOST_LAYERS = 9, WORDS = 41 };

/* The sizes and options of a case; the values are random. */
struct layer_case {
    int layers, rows, memory, d_model, ffn, heads, key_width, value_width;
    int norm_first, has_bias, has_relative, has_hidden;
    enum clf__norm_kind norm;
    enum clf__activation activation;
    enum clf__precision precision;
    int positions; /* of a target */
};

static inline void make_linear(struct clf__linear *out, struct clf_device *device,
                               struct support_random *random, const struct layer_case *c, int inputs,
                               int outputs)
{
    float *bias = c->has_bias ? support_uniform_array(random, (size_t)outputs, 0.5f) : NULL;
    struct clf__weight_part part = {support_uniform_array(random, (size_t)outputs * (size_t)inputs, 0.2f),
                                    outputs};
    struct clf__weight_source source = {&part, 1, inputs, c->precision, "a test's layer"};
    assert_ok(clf__linear_create(out, device, &source, bias));
}

static inline void make_norm(struct clf__norm *out, struct clf_device *device, struct support_random *random,
                             const struct layer_case *c)
{
    float *gamma = support_uniform_array(random, (size_t)c->d_model, 1);
    float *beta = c->norm != CLF__NORM_RMS ? support_uniform_array(random, (size_t)c->d_model, 1) : NULL;
    assert_ok(clf__norm_create(out, device, c->norm, 1e-5f, c->d_model, gamma, beta, "a test's norm"));
}

static inline void make_layer(struct clf__layer *out, struct clf_device *device,
                              struct support_random *random, const struct layer_case *c)
{
    struct clf__heads heads = {c->heads, c->key_width, c->value_width, 0.25f};
    int values = c->heads * c->value_width;
    *out = (struct clf__layer){
        .mixer = {.kind = &clf__self_attention_mixer, .attention = {.heads = heads}},
        .cross_attention.heads = heads,
        .feed_forward = {.activation = c->activation, .width = c->ffn},
        .norm_first = c->norm_first,
    };
    make_linear(&out->mixer.attention.input, device, random, c, c->d_model,
                clf__self_projection_width(&heads));
    make_linear(&out->mixer.attention.output, device, random, c, values, c->d_model);
    make_linear(&out->cross_attention.input, device, random, c, c->d_model, c->heads * c->key_width);
    make_linear(&out->cross_attention.output, device, random, c, values, c->d_model);
    make_linear(&out->feed_forward.up, device, random, c, c->d_model, c->ffn);
    make_linear(&out->feed_forward.down, device, random, c, c->ffn, c->d_model);
    make_norm(&out->mixer_norm, device, random, c);
    make_norm(&out->cross_attention_norm, device, random, c);
    make_norm(&out->feed_forward_norm, device, random, c);
}

static inline void make_front_end(struct clf__front_end *out, struct clf_device *device,
                                  struct support_random *random, const struct layer_case *c,
                                  enum clf__precision precision)
{
    struct clf__weight_part part = {support_uniform_array(random, WORDS * (size_t)c->d_model, 0.5f), WORDS};
    struct clf__weight_source source = {&part, 1, c->d_model, precision, "a test's embedding"};
    *out = (struct clf__front_end){.kind = &clf__tokens_front_end, .scale = 1.5f};
    assert_ok(clf__weight_create(&out->tokens, device, &source));
}

/* The integers of a step: each row has a cache row and a history of random length; several rows share two
 * sources. */
struct step_tables {
    int32_t *cache_rows, *positions, *table, *ranges, *hidden, *parents, *ids, *position_rows;
    int sources, max_queries;
};

static inline void make_tables(struct step_tables *out, struct support_random *random,
                               const struct layer_case *c)
{
    int rows = c->rows, memory = c->memory, positions = c->positions;
    out->sources = rows > 1 ? 2 : 1;
    out->cache_rows = support_array((size_t)rows, sizeof(int32_t));
    out->positions = support_array((size_t)rows, sizeof(int32_t));
    out->table = support_array((size_t)(rows * positions), sizeof(int32_t));
    out->ranges = support_array(8, sizeof(int32_t));
    out->hidden = support_array((size_t)memory, sizeof(int32_t));
    out->parents = support_array((size_t)rows, sizeof(int32_t));
    out->ids = support_array((size_t)rows, sizeof(int32_t));
    out->position_rows = support_array((size_t)rows, sizeof(int32_t));
    for (int r = 0; r < rows; r++) {
        out->cache_rows[r] = rows - 1 - r;
        out->positions[r] = support_integer(random, positions);
        out->parents[r] = (r + 1) % rows;
        out->ids[r] = support_integer(random, WORDS + 1); /* one of them is out of range */
        out->position_rows[r] = support_integer(random, positions + 1);
    }
    for (int r = 0; r < rows; r++) {
        for (int t = 0; t < positions; t++) {
            /* An earlier token may be in any row, but was written before this step. */
            int other = support_integer(random, rows);
            int is_earlier = out->positions[other] > t;
            out->table[out->cache_rows[r] * positions + t] = out->cache_rows[is_earlier ? other : r];
        }
    }
    for (int i = 0; i < memory; i++) {
        out->hidden[i] = i % 5 == 2;
    }
    int first = out->sources == 2 ? rows / 3 + 1 : rows;
    int keys = out->sources == 2 ? 9 : memory;
    const int32_t ranges[8] = {0, first, 0, keys, first, rows - first, keys, memory - keys};
    memcpy(out->ranges, ranges, sizeof ranges);
    out->max_queries = first > rows - first ? first : rows - first;
}

/* The caches of a layer, for self-attention and cross-attention. */
static inline void place_layer(struct clf__layer_call *call, struct clf__mixer_state *state,
                               struct clf_device *device, struct support_random *random,
                               const struct layer_case *c)
{
    int keys = c->heads * c->key_width, values = c->heads * c->value_width, key_rows = c->rows * c->positions;
    enum clf__type type = clf__cache_type(c->precision);
    state->parts[0] = support_tensor(device, type, key_rows, keys,
                                     support_uniform_array(random, (size_t)key_rows * (size_t)keys, 1));
    state->parts[1] = support_tensor(device, type, key_rows, values,
                                     support_uniform_array(random, (size_t)key_rows * (size_t)values, 1));
    call->state = state;
    call->memory =
        support_tensor(device, type, c->memory, keys + values,
                       support_uniform_array(random, (size_t)c->memory * (size_t)(keys + values), 1));
}

static inline size_t append(float *all, size_t used, struct clf__tensor tensor)
{
    size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
    memcpy(all + used, support_read(tensor), count * sizeof *all);
    return used + count;
}

static inline size_t output_count(const struct layer_case *c)
{
    size_t widths = (size_t)(c->heads * (c->key_width + c->value_width));
    return (size_t)c->rows * ((size_t)c->d_model + (size_t)(c->layers * c->positions) * widths);
}

/* The cache tables: one for this step to write, and the previous step's, with the history of each row at its
 * parent. */
static inline struct clf__mixer_state make_shared(struct clf_device *device, const struct layer_case *c,
                                                  const struct step_tables *tables)
{
    int positions = c->positions;
    int32_t *history = support_array((size_t)(c->rows * positions), sizeof *history);
    for (int r = 0; r < c->rows; r++) {
        memcpy(history + tables->parents[r] * positions, tables->table + tables->cache_rows[r] * positions,
               (size_t)positions * sizeof *history);
    }
    return (struct clf__mixer_state){
        .parts = {support_tensor(device, CLF__I32, c->rows, positions, NULL),
                  support_tensor(device, CLF__I32, c->rows, positions, history)}};
}

/* The cache table and the embedding, which precede the layers. */
static inline void start_alone(struct clf__tensor x, const struct clf__step_start *start,
                               const struct clf__mixer_step *step)
{
    const struct clf__front_end_input input = {.ids = start->ids};
    assert_ok(clf__self_attention_mixer.follow(step));
    assert_ok(start->front_end->kind->forward(x, start->front_end, &input, start->table, start->positions));
}

/* One step of the layers, with all its inputs and outputs on the device. */
struct step_run {
    struct clf__workspace workspace;
    struct clf__mixer_state shared, states[MOST_LAYERS];
    struct clf__mixer_step step;
    struct clf__attention_call cross;
    struct clf__layer_call calls[MOST_LAYERS];
    struct clf__tensor memory[MOST_LAYERS];
    struct clf__step_start start;
};

static inline struct clf__workspace make_workspace(const struct clf__layer *layers, struct clf_device *device,
                                                   const struct layer_case *c)
{
    int keys = c->heads * c->key_width, values = c->heads * c->value_width, rows = c->rows;
    struct clf__workspace workspace = {
        .x = support_tensor(device, CLF__F32, rows, c->d_model, NULL),
        .normed = support_tensor(device, CLF__F32, rows, c->d_model, NULL),
        .projected = support_tensor(device, CLF__F32, rows, 2 * keys + values, NULL),
        .context = support_tensor(device, CLF__F32, rows, values, NULL),
        .hidden = support_tensor(device, CLF__F32, rows, c->ffn, NULL),
    };
    enum clf__type operand = clf__linear_row_operand(&layers->mixer.attention.input);
    if (operand == CLF__QUANTIZED) {
        int stride = CLF__QUANTIZED_STRIDE(c->d_model);
        workspace.rounded = support_tensor(device, CLF__QUANTIZED, rows, stride, NULL);
    } else if (operand != CLF__F32) {
        workspace.rounded = clf__tensor_as(support_tensor(device, CLF__F32, rows, c->d_model, NULL), operand);
    }
    return workspace;
}

/* run->calls are for separate launches. */
static inline void make_run(struct step_run *run, const struct clf__layer *layers,
                            const struct clf__front_end *front_end, struct clf_device *device,
                            const struct layer_case *c, const struct step_tables *tables)
{
    struct support_random random = {99};
    int rows = c->rows;
    *run = (struct step_run){
        .workspace = make_workspace(layers, device, c),
        .shared = make_shared(device, c, tables),
        .step = {.cache_rows = support_tensor(device, CLF__I32, 1, rows, tables->cache_rows),
                 .parents = support_tensor(device, CLF__I32, 1, rows, tables->parents),
                 .positions = support_tensor(device, CLF__I32, 1, rows, tables->positions),
                 .shared = &run->shared},
        .cross = {.heads = layers->cross_attention.heads,
                  .ranges = {.table = support_tensor(device, CLF__I32, tables->sources, 4, tables->ranges),
                             .sequences = tables->sources,
                             .max_queries = tables->max_queries,
                             .max_keys = c->memory},
                  .few_queries = 1},
    };
    float *relative = support_uniform_array(&random, (size_t)c->heads * (2 * MAX_REACH + 1), 1);
    if (c->has_relative) {
        run->step.relative = support_tensor(device, CLF__F32, c->heads, 2 * MAX_REACH + 1, relative);
    }
    if (c->has_hidden) {
        run->cross.mask.hidden_keys = support_tensor(device, CLF__I32, 1, c->memory, tables->hidden);
    }
    int most_keys = c->memory > c->positions ? c->memory : c->positions;
    int64_t partials = clf__attention_partials(&run->cross.heads, rows, most_keys);
    if (partials > 0) {
        run->cross.partials = support_tensor(device, CLF__F32, 1, (int)partials, NULL);
        run->step.partials = run->cross.partials;
    }
    for (int i = 0; i < c->layers; i++) {
        run->calls[i] = (struct clf__layer_call){.step = &run->step, .cross_call = &run->cross};
        place_layer(&run->calls[i], &run->states[i], device, &random, c);
        run->memory[i] = run->calls[i].memory;
    }
    run->start = (struct clf__step_start){
        .front_end = front_end,
        .ids = support_tensor(device, CLF__I32, 1, rows, tables->ids),
        .table = support_tensor(device, CLF__F32, c->positions, c->d_model,
                                support_uniform_array(&random, (size_t)(c->positions * c->d_model), 1)),
        .positions = support_tensor(device, CLF__I32, 1, rows, tables->position_rows),
    };
}

/* The last layer's output, and the keys and values of all layers. */
static inline float *read_run(const struct step_run *run, const struct layer_case *c)
{
    float *all = support_array(output_count(c), sizeof *all);
    size_t used = append(all, 0, run->workspace.x);
    for (int i = 0; i < c->layers; i++) {
        used = append(all, used, run->states[i].parts[0]);
        used = append(all, used, run->states[i].parts[1]);
    }
    assert_true(used == output_count(c));
    return all;
}

#endif
