#include <assert.h>
#include <stdio.h>

#include "device/caps.h"
#include "ops/attention.h"
#include "ops/cache.h"
#include "ops/operand.h"

struct clf__attention_step_sizes clf__attention_step_sizes(const struct clf__heads *heads,
                                                           const struct clf__attention_history *history,
                                                           int rows)
{
    return (struct clf__attention_step_sizes){
        .k = CLF__PLACE(history->keys),
        .v = CLF__PLACE(history->values),
        .table = CLF__PLACE(history->table),
        .cache_rows = CLF__PLACE(history->cache_rows),
        .positions = CLF__PLACE(history->positions),
        .relative = CLF__PLACE(history->relative),
        .positions_total = history->table.columns,
        .cache_rows_total = history->cache_rows_total,
        .reach = (history->relative.columns - 1) / 2,
        .rows = rows,
        .heads = heads->count,
        .scale = heads->scale,
    };
}

clf_status clf__attention_step_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                       struct clf__tensor v, const struct clf__heads *heads,
                                       const struct clf__attention_history *history)
{
    assert(q.columns == heads->count * heads->key_width && history->keys.columns == q.columns);
    assert(y.columns == heads->count * heads->value_width && history->values.columns == y.columns);
    assert(k.buffer == NULL || (k.columns == q.columns && v.columns == y.columns));
    if (q.rows == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(y.buffer);
    double pairs = history->pairs > 0.0 ? history->pairs : (double)q.rows * history->table.columns;
    size_t tasks = (size_t)q.rows * (size_t)heads->count;
    struct clf__attention_group group = clf__attention_step_group(
        device, heads, history->keys, history->values, tasks, history->table.columns);
    struct clf__attention_step_sizes sizes = clf__attention_step_sizes(heads, history, q.rows);
    sizes.y = (struct clf__place)CLF__PLACE(y);
    sizes.q = (struct clf__place)CLF__PLACE(q);
    sizes.own_k = (struct clf__place)CLF__PLACE(k);
    sizes.own_v = (struct clf__place)CLF__PLACE(v);
    int exceeds = 0;
    do {
        char defines[144];
        snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", heads->key_width,
                 heads->value_width, clf__result_define(y), clf__cache_define(history->keys), group.defines);
        const struct clf__argument arguments[] = {
            CLF__LOCAL(group.local_bytes),
            CLF__BUFFER(y.buffer),
            CLF__BUFFER(q.buffer),
            CLF__BUFFER(k.buffer),
            CLF__BUFFER(v.buffer),
            CLF__BUFFER(history->keys.buffer),
            CLF__BUFFER(history->values.buffer),
            CLF__BUFFER(history->table.buffer),
            CLF__BUFFER(history->cache_rows.buffer),
            CLF__BUFFER(history->positions.buffer),
            CLF__BUFFER(history->relative.buffer),
            CLF__STRUCT(sizes),
        };
        const struct clf__launch launch = {
            .program = "attention_step",
            .defines = defines,
            .cpu = CLF__GRID("attention_step_cpu", clf__groups(tasks)),
            .gpu = {"attention_step_gpu", {clf__groups(tasks)}, {group.items}},
            CLF__ARGUMENTS(arguments),
            .cost = clf__attention_cost(heads, q.rows, pairs, history->keys.type, pairs),
            .exceeds = group.ways > 1 ? &exceeds : NULL,
        };
        CLF__TRY(clf__launch(device, &launch));
    } while (exceeds && clf__attention_group_halve(&group, heads));
    return CLF_OK;
}
