#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "device/caps.h"
#include "ops/attention.h"
#include "ops/operand.h"

/* Of each query and head: the maximum and the sum of its scores, and dy . y. */
enum { STATISTICS = 3 };

size_t clf__attention_backward_scratch(const struct clf__heads *heads, int query_rows, int sequences,
                                       int relative_width)
{
    size_t statistics = STATISTICS * (size_t)query_rows;
    return (size_t)heads->count * (statistics + (size_t)sequences * (size_t)relative_width);
}

/* Five products where the forward pass has two, and a pair's own gradient. */
static struct clf__cost count_cost(const struct clf__attention_call *call, double queries)
{
    const struct clf__spans *spans = &call->spans;
    const struct clf__heads *heads = &call->heads;
    double all_keys = (double)spans->sequences * spans->max_keys;
    double keys = spans->pairs > 0.0 ? spans->keys : all_keys;
    double pairs = spans->pairs > 0.0 ? spans->pairs : all_keys * spans->max_queries;
    double key_width = heads->key_width, value_width = heads->value_width;
    return (struct clf__cost){
        .operations = heads->count * pairs * (6.0 * key_width + 4.0 * value_width + 8.0),
        .bytes = heads->count * sizeof(float) *
                 (queries * (2.0 * key_width + 2.0 * value_width) + keys * 2.0 * (key_width + value_width)),
    };
}

clf_status clf__attention_backward(const struct clf__attention_gradients *gradients, struct clf__tensor dy,
                                   struct clf__tensor q, struct clf__tensor k, struct clf__tensor v,
                                   struct clf__tensor y, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__spans *spans = &call->spans;
    const struct clf__mask *mask = &call->mask;
    assert(q.columns == heads->count * heads->key_width && k.columns == q.columns);
    assert(y.columns == heads->count * heads->value_width && v.columns == y.columns);
    assert(dy.columns == y.columns && gradients->query.columns == q.columns);
    assert(spans->table.stride == 4 || spans->sequences < 2);
    assert((size_t)gradients->scratch.columns >=
           clf__attention_backward_scratch(heads, q.rows, spans->sequences, 0));
    if (spans->sequences == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(dy.buffer);
    int has_dropout = call->dropout.rate > 0.0f;
    char defines[96];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s", heads->key_width,
             heads->value_width, has_dropout ? " -DHAS_DROPOUT" : "");
    const struct clf__argument arguments[] = {
        CLF__OPERAND(gradients->query),
        CLF__OPERAND(gradients->key),
        CLF__OPERAND(gradients->value),
        CLF__OPERAND(dy),
        CLF__OPERAND(q),
        CLF__OPERAND(k),
        CLF__OPERAND(v),
        CLF__OPERAND(y),
        CLF__VECTOR(spans->table),
        CLF__VECTOR(mask->hidden_keys),
        CLF__OPERAND(mask->additive),
        CLF__OPERAND(mask->relative),
        CLF__INT((mask->relative.columns - 1) / 2),
        CLF__VECTOR(gradients->scratch),
        CLF__INT(q.rows),
        CLF__INT(spans->sequences),
        CLF__INT(heads->count),
        CLF__INT(spans->max_queries),
        CLF__FLOAT(heads->scale),
        CLF__INT(mask->causal),
        CLF__DROPOUT(call->dropout),
    };
    const struct clf__launch launch = {
        .program = "attention_backward",
        .kernel = "attention_backward_cpu",
        .defines = defines,
        .groups = {clf__groups((size_t)spans->sequences * (size_t)heads->count)},
        .local = {1},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments - (has_dropout ? 0 : 6),
        .cost = count_cost(call, q.rows),
    };
    return clf__launch(device, &launch);
}
