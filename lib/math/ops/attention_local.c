#include "math/ops/attention_local.h"

#include <assert.h>
#include <stdio.h>

#include "base/minmax.h"
#include "math/ops/attention_launch.h"

static const struct clf__global_tokens no_globals = {.block_size = 1};

static struct clf__attention_local_sizes list_sizes(const struct clf__attention_operands *operands,
                                                    const struct clf__attention_call *call,
                                                    const struct clf__global_tokens *globals)
{
    const struct clf__mask *mask = &call->mask;
    return (struct clf__attention_local_sizes){
        CLF__ATTENTION_PLACES(*operands),
        .global_k = CLF__PLACE(globals->keys),
        .global_v = CLF__PLACE(globals->values),
        .ranges = CLF__PLACE(call->ranges.table),
        .relative = CLF__PLACE(mask->relative),
        .globals = CLF__PLACE(globals->table),
        .global_relative = CLF__PLACE(globals->relative),
        .reach = (mask->relative.columns - 1) / 2,
        .global_reach = (globals->relative.columns - 1) / 2,
        .sequences = call->ranges.sequences,
        .heads = call->heads.count,
        .max_queries = call->ranges.max_queries,
        .radius = call->window->radius,
        .block_size = globals->block_size,
        .scale = call->heads.scale,
    };
}

/* Chooses the work-group. Kernels read several columns at once if every operand is aligned. */
static struct clf__attention_group choose_group(const struct clf__caps *caps, const struct clf__heads *heads,
                                                struct clf__tensor q, struct clf__tensor k,
                                                struct clf__tensor v,
                                                const struct clf__global_tokens *globals)
{
    struct clf__attention_group group = clf__attention_block_group(caps, heads, q, k, v);
    if (globals->keys.buffer == NULL) {
        return group;
    }
    struct clf__attention_group other =
        clf__attention_block_group(caps, heads, q, globals->keys, globals->values);
    return other.defines[0] == '\0' ? other : group;
}

static struct clf__cost count_cost(const struct clf__attention_call *call, int rows, int most_globals)
{
    double seen = clf__min_int(2 * call->window->radius + 1, call->ranges.max_keys) + (double)most_globals;
    return clf__attention_cost(&call->heads, rows, rows, CLF__F32, rows * seen);
}

clf_status clf__attention_local_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                        struct clf__tensor v, const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &call->heads;
    const struct clf__global_tokens *globals =
        call->window->globals != NULL ? call->window->globals : &no_globals;
    struct clf_device *device = clf__buffer_device(y.buffer);
    const struct clf__caps *caps = clf__device_caps(device);
    assert(q.type == CLF__F32 && k.type == CLF__F32 && v.type == CLF__F32 && globals->block_size > 0);
    assert(call->dropout.rate == 0.0f && !call->few_queries && !call->mask.causal);
    assert(call->mask.hidden_keys.buffer == NULL && call->mask.additive.buffer == NULL);
    const struct clf__attention_operands operands = {y, q, k, v};
    struct clf__attention_local_sizes sizes = list_sizes(&operands, call, globals);
    sizes.block_queries = clf__attention_block_queries(call, caps);
    size_t slices = caps->variant == CLF_VARIANT_CPU ? 1 : ((size_t)heads->value_width + 63) / 64, tasks;
    CLF__TRY(clf__attention_count_tasks(&tasks, call, sizes.block_queries, slices));
    const struct clf__attention_group group = choose_group(caps, heads, q, k, v, globals);
    const struct clf__argument arguments[] = {
        CLF__LOCAL(group.local_bytes),
        CLF__ATTENTION_BUFFERS(operands),
        CLF__BUFFER(globals->keys.buffer),
        CLF__BUFFER(globals->values.buffer),
        CLF__BUFFER(call->ranges.table.buffer),
        CLF__BUFFER(call->mask.relative.buffer),
        CLF__BUFFER(globals->table.buffer),
        CLF__BUFFER(globals->relative.buffer),
        CLF__STRUCT(sizes),
    };
    char defines[128];
    snprintf(defines, sizeof defines, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s", heads->key_width,
             heads->value_width, clf__result_define(y), group.defines);
    const struct clf__launch launch = {
        .program = "attention_local",
        .defines = defines,
        .cpu = CLF__GRID("attention_local_cpu", clf__groups(tasks)),
        .gpu = {"attention_local_gpu", {clf__groups(tasks)}, {group.items}},
        CLF__ARGUMENTS(arguments),
        .cost = count_cost(call, q.rows, globals->most),
    };
    return clf__launch(device, &launch);
}
