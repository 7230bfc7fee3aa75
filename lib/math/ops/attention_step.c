#include <assert.h>
#include <stdio.h>

#include "math/ops/attention_launch.h"
#include "math/ops/cache.h"

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
        .partials = CLF__PLACE(history->partials),
        .parts = clf__attention_split(clf__buffer_device(history->keys.buffer), heads, rows,
                                      clf__attention_most_keys(history), history->partials),
        .scale = heads->scale,
    };
}

int clf__attention_most_keys(const struct clf__attention_history *history)
{
    return history->most_keys > 0 ? history->most_keys : history->table.columns;
}

/* A launch of the kernel: its operands and its groups. */
struct step {
    struct clf__attention_operands operands;
    const struct clf__heads *heads;
    const struct clf__attention_history *history;
    struct clf__attention_step_sizes sizes;
    struct clf__attention_group group;
};

/* Launches gpu_kernel with this number of groups, or the kernel of the CPU variant. */
static clf_status launch_step(const struct step *step, const char *gpu_kernel, size_t groups,
                              struct clf__cost cost, int *exceeds)
{
    const struct clf__attention_history *history = step->history;
    char defines[144];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s%s", step->heads->key_width,
             step->heads->value_width, clf__result_define(step->operands.y), clf__cache_define(history->keys),
             step->group.defines);
    const struct clf__argument arguments[] = {
        CLF__LOCAL(step->group.local_bytes),     CLF__GPU_BUFFER(history->partials.buffer),
        CLF__ATTENTION_BUFFERS(step->operands),  CLF__BUFFER(history->keys.buffer),
        CLF__BUFFER(history->values.buffer),     CLF__BUFFER(history->table.buffer),
        CLF__BUFFER(history->cache_rows.buffer), CLF__BUFFER(history->positions.buffer),
        CLF__BUFFER(history->relative.buffer),   CLF__STRUCT(step->sizes),
    };
    const struct clf__launch launch = {
        .program = "attention_step",
        .defines = defines,
        .cpu = CLF__GRID("attention_step_cpu", clf__groups(groups)),
        .gpu = {gpu_kernel, {clf__groups(groups)}, {step->group.items}},
        CLF__ARGUMENTS(arguments),
        .cost = cost,
        .exceeds = exceeds,
    };
    return clf__launch(clf__buffer_device(step->operands.y.buffer), &launch);
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
    const struct clf_device *device = clf__buffer_device(y.buffer);
    double pairs = history->pairs > 0.0 ? history->pairs : (double)q.rows * history->table.columns;
    size_t queries = (size_t)q.rows * (size_t)heads->count;
    struct step step = {.operands = {y, q, k, v}, .heads = heads, .history = history};
    step.sizes = clf__attention_step_sizes(heads, history, q.rows);
    step.sizes.y = (struct clf__place)CLF__PLACE(y);
    step.sizes.q = (struct clf__place)CLF__PLACE(q);
    step.sizes.own_k = (struct clf__place)CLF__PLACE(k);
    step.sizes.own_v = (struct clf__place)CLF__PLACE(v);
    int keys = clf__attention_most_keys(history), parts = step.sizes.parts;
    size_t tasks = queries * (size_t)parts;
    step.group = clf__attention_step_group(device, heads, history->keys, history->values, tasks, keys);
    struct clf__cost cost = clf__attention_cost(heads, q.rows, pairs, history->keys.type, pairs);
    int exceeds = 0;
    do {
        CLF__TRY(
            launch_step(&step, "attention_step_gpu", tasks, cost, step.group.ways > 1 ? &exceeds : NULL));
    } while (exceeds && clf__attention_group_halve(&step.group, heads));
    return parts > 1 ? launch_step(&step, "attention_step_join_gpu", queries,
                                   clf__attention_join_cost(heads, q.rows, parts), NULL)
                     : CLF_OK;
}
