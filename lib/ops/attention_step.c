#include <assert.h>
#include <stdio.h>

#include "device/caps.h"
#include "ops/attention.h"
#include "ops/operand.h"

clf_status clf__attention_step_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                       struct clf__tensor v, const struct clf__heads *heads,
                                       const struct clf__attention_history *history)
{
    assert(q.columns == heads->count * heads->key_width && history->keys.columns == q.columns);
    assert(y.columns == heads->count * heads->value_width && history->values.columns == y.columns);
    assert(k.columns == q.columns && v.columns == y.columns);
    if (q.rows == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(y.buffer);
    char defines[64];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d", heads->key_width,
             heads->value_width);
    double pairs = history->pairs > 0.0 ? history->pairs : (double)q.rows * history->table.columns;
    const struct clf__argument arguments[] = {
        CLF__OPERAND(y),
        CLF__OPERAND(q),
        CLF__OPERAND(k),
        CLF__OPERAND(v),
        CLF__OPERAND(history->keys),
        CLF__OPERAND(history->values),
        CLF__OPERAND(history->table),
        CLF__VECTOR(history->slots),
        CLF__VECTOR(history->positions),
        CLF__INT(history->table.columns),
        CLF__INT(history->slots_total),
        CLF__OPERAND(history->relative),
        CLF__INT((history->relative.columns - 1) / 2),
        CLF__INT(q.rows),
        CLF__INT(heads->count),
        CLF__FLOAT(heads->scale),
    };
    const struct clf__launch launch = {
        .program = "attention_step",
        .defines = defines,
        .cpu = CLF__GRID("attention_step_cpu", clf__groups((size_t)q.rows * (size_t)heads->count)),
        .gpu = CLF__GRID("attention_step_gpu", clf__groups((size_t)q.rows * (size_t)heads->count)),
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments,
        .cost = clf__attention_cost(heads, q.rows, pairs, pairs),
    };
    return clf__launch(device, &launch);
}
