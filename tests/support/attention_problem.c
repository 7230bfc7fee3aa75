#include "support/attention_problem.h"

#include <math.h>
#include <string.h>

int support_next_masks(int masks)
{
    if (!support_small()) {
        return masks + 1;
    }
    return masks < 8 ? 2 * masks : masks == 8 ? 15 : 16;
}

struct attention_problem support_attention_problem(const struct attention_shape *shape, uint64_t seed)
{
    struct support_random random = {seed};
    struct attention_problem problem = {.shape = *shape};
    int32_t *ranges = support_array(4 * MOST_SEQUENCES, sizeof *ranges);
    int max_queries = 0, max_keys = 0;
    for (int b = 0; b < shape->sequences; b++) {
        const int32_t range[4] = {problem.query_rows, shape->queries[b], problem.key_rows, shape->keys[b]};
        memcpy(ranges + 4 * b, range, sizeof range);
        problem.query_rows += shape->queries[b];
        problem.key_rows += shape->keys[b];
        max_queries = shape->queries[b] > max_queries ? shape->queries[b] : max_queries;
        max_keys = shape->keys[b] > max_keys ? shape->keys[b] : max_keys;
    }
    size_t queries = (size_t)problem.query_rows, keys = (size_t)problem.key_rows;
    size_t key_columns = (size_t)(shape->heads * shape->key_width);
    problem.q = support_uniform_array(&random, queries * key_columns, 2.0f);
    problem.k = support_uniform_array(&random, keys * key_columns, 2.0f);
    problem.v = support_uniform_array(&random, keys * (size_t)(shape->heads * shape->value_width), 1.0f);
    if (shape->key_type == CLF__F16) {
        problem.k = support_round_halves(problem.k, keys * key_columns);
        problem.v = support_round_halves(problem.v, keys * (size_t)(shape->heads * shape->value_width));
    }
    problem.reference = (struct reference_attention){
        .heads = shape->heads,
        .key_width = shape->key_width,
        .value_width = shape->value_width,
        .scale = 1.0f / sqrtf((float)shape->key_width),
        .sequences = shape->sequences,
        .max_queries = max_queries,
        .max_keys = max_keys,
        .ranges = ranges,
        .causal = shape->causal,
        .reach = shape->relative,
        .dropout = shape->dropout,
        .dropout_seed = 0x0123456789abcdef + seed,
        .dropout_step = 7,
        .dropout_site = 3,
    };
    if (shape->hidden) {
        int32_t *hidden = support_array(keys, sizeof *hidden);
        for (size_t j = 0; j < keys; j++) { /* all keys of the first sequence, and a third of the others */
            hidden[j] = j < (size_t)shape->keys[0] || support_integer(&random, 3) == 0;
        }
        problem.reference.hidden = hidden;
    }
    if (shape->additive) {
        int rows = shape->sequences * max_queries;
        float *additive = support_uniform_array(&random, (size_t)rows * (size_t)max_keys, 3.0f);
        for (int n = 0; n < rows; n++) { /* every fifth row is fully masked */
            for (int j = 0; j < max_keys; j++) {
                float *entry = &additive[(size_t)n * (size_t)max_keys + (size_t)j];
                *entry = n % 5 == 2 || support_integer(&random, 4) == 0 ? -INFINITY : *entry;
            }
        }
        problem.reference.additive = additive;
    }
    if (shape->relative) {
        problem.reference.relative =
            support_uniform_array(&random, (size_t)(shape->heads * (2 * shape->relative + 1)), 2.0f);
    }
    return problem;
}

static struct clf__tensor operand(struct clf_device *device, enum clf__type type, int views, int rows,
                                  int columns, const float *values)
{
    int margin = views ? 3 : 0, width = views ? columns + 7 : columns;
    float *all = NULL;
    if (values != NULL) {
        all = support_array((size_t)rows * (size_t)width, sizeof *all);
        for (int i = 0; i < rows * width; i++) {
            int column = i % width - margin;
            all[i] = column >= 0 && column < columns ? values[i / width * columns + column] : NAN;
        }
    }
    return clf__tensor_columns(support_tensor(device, type, rows, width, all), margin, columns);
}

struct clf__tensor support_attention_operand(struct clf_device *device, int views, int rows, int columns,
                                             const float *values)
{
    return operand(device, CLF__F32, views, rows, columns, values);
}

struct clf__attention_call support_attention_call(struct clf_device *device,
                                                  const struct attention_problem *problem)
{
    const struct reference_attention *reference = &problem->reference;
    int sequences = reference->sequences;
    struct clf__attention_call call = {
        .heads = {reference->heads, reference->key_width, reference->value_width, (float)reference->scale},
        .ranges = {support_tensor(device, CLF__I32, sequences, 4, reference->ranges), sequences,
                   reference->max_queries, reference->max_keys, 0, 0},
        .mask = CLF__MASK_NONE,
        .dropout = {reference->dropout, reference->dropout_seed, reference->dropout_step,
                    reference->dropout_site},
        .few_queries = problem->shape.few_queries,
    };
    call.mask.causal = reference->causal;
    int64_t partials = clf__attention_partials(&call.heads, problem->query_rows, reference->max_keys);
    if (call.few_queries && partials > 0) {
        call.partials = support_tensor(device, CLF__F32, 1, (int)partials, NULL);
    }
    if (reference->hidden) {
        call.mask.hidden_keys = support_tensor(device, CLF__I32, 1, problem->key_rows, reference->hidden);
    }
    if (reference->additive) {
        call.mask.additive = support_tensor(device, CLF__F32, sequences * reference->max_queries,
                                            reference->max_keys, reference->additive);
    }
    if (reference->relative) {
        call.mask.relative =
            support_tensor(device, CLF__F32, reference->heads, 2 * reference->reach + 1, reference->relative);
    }
    return call;
}

struct clf__tensor support_attention_keys(struct clf_device *device, const struct attention_problem *problem)
{
    const struct attention_shape *shape = &problem->shape;
    return operand(device, shape->key_type, shape->column_views, problem->key_rows,
                   shape->heads * shape->key_width, problem->k);
}

float *support_attention_run(struct clf_device *device, const struct attention_problem *problem,
                             const struct clf__attention_call *call)
{
    const struct attention_shape *shape = &problem->shape;
    int key_columns = shape->heads * shape->key_width, value_columns = shape->heads * shape->value_width;
    struct clf__tensor q =
        support_attention_operand(device, shape->column_views, problem->query_rows, key_columns, problem->q);
    struct clf__tensor k = support_attention_keys(device, problem);
    struct clf__tensor v =
        operand(device, shape->key_type, shape->column_views, problem->key_rows, value_columns, problem->v);
    struct clf__tensor y =
        support_attention_operand(device, shape->column_views, problem->query_rows, value_columns, NULL);
    assert_ok(clf__attention_forward(y, q, k, v, call));
    return support_read(y);
}
