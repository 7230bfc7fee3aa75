#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "math/ops/attention.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

/* Statistics of each query and head: the maximum and the sum of its scores, and dy . y. */
enum { STATISTICS = 3 };

/* GPU variant: queries or keys per group, columns of the sums, and maximum floats of local memory (two
 * chunks of rows or a tile of values, a tile of weights, and a few numbers per query). */
enum {
    BLOCK = 32,
    MOST_SLICE = 64,
    LOCAL = 3 * BLOCK * (BLOCK + 1) + 2 * CLF__GROUP + BLOCK,
    LOCAL_HEAD = 256
};

size_t clf__attention_backward_scratch(const struct clf__heads *heads, int query_rows, int sequences,
                                       int relative_width)
{
    size_t statistics = STATISTICS * (size_t)query_rows;
    return (size_t)heads->count * (statistics + (size_t)sequences * (size_t)relative_width);
}

/* One kernel of cl/attention/attention_backward.cl, its groups, and the fma operations per query and key. */
struct part {
    const char *kernel;
    size_t tasks;
    double multiplications;
};

static struct clf__cost count_cost(const struct clf__attention_call *call, double queries,
                                   const struct part *part)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__heads *heads = &call->heads;
    double all_keys = (double)ranges->sequences * ranges->max_keys;
    double keys = ranges->pairs > 0.0 ? ranges->keys : all_keys;
    double pairs = ranges->pairs > 0.0 ? ranges->pairs : all_keys * ranges->max_queries;
    double widths = heads->key_width + heads->value_width;
    /* Operations per pair in addition to the dot products: difference, exp, probability, and the gradient
     * of the score. */
    return (struct clf__cost){
        .operations = heads->count * pairs * (2.0 * part->multiplications + 5.0),
        .bytes = heads->count * 2.0 * (queries + keys) * widths * sizeof(float),
    };
}

/* The operands of a call. */
struct operands {
    const struct clf__attention_gradients *gradients;
    struct clf__tensor dy, q, k, v, y;
    const struct clf__attention_call *call;
};

static void write_defines(char *defines, size_t size, const struct clf__attention_call *call)
{
    snprintf(defines, size, "-DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s", call->heads.key_width,
             call->heads.value_width, call->dropout.rate > 0.0f ? " -DHAS_DROPOUT" : "");
}

static clf_status launch(const struct operands *operands, const struct part *part)
{
    const struct clf__attention_gradients *gradients = operands->gradients;
    const struct clf__attention_call *call = operands->call;
    const struct clf__heads *heads = &call->heads;
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__mask *mask = &call->mask;
    struct clf_device *device = clf__buffer_device(operands->dy.buffer);
    int has_dropout = call->dropout.rate > 0.0f;
    if (part->tasks > INT32_MAX) {
        return clf__fail(CLF_UNSUPPORTED,
                         "attention gradients: %d sequences of up to %d queries and %d keys with %d heads "
                         "need %zu work-items, more than the limit of %d; use a smaller --batch-tokens",
                         ranges->sequences, ranges->max_queries, ranges->max_keys, heads->count, part->tasks,
                         INT32_MAX);
    }
    char defines[96];
    write_defines(defines, sizeof defines, call);
    const struct clf__argument arguments[] = {
        CLF__LOCAL(LOCAL_HEAD),
        CLF__LOCAL(LOCAL * sizeof(float)),
        CLF__OPERAND(gradients->query),
        CLF__OPERAND(gradients->key),
        CLF__OPERAND(gradients->value),
        CLF__OPERAND(operands->dy),
        CLF__OPERAND(operands->q),
        CLF__OPERAND(operands->k),
        CLF__OPERAND(operands->v),
        CLF__OPERAND(operands->y),
        CLF__VECTOR(ranges->table),
        CLF__VECTOR(mask->hidden_keys),
        CLF__OPERAND(mask->additive),
        CLF__OPERAND(mask->relative),
        CLF__INT((mask->relative.columns - 1) / 2),
        CLF__VECTOR(gradients->scratch),
        CLF__INT(gradients->relative.buffer != NULL),
        CLF__INT(operands->q.rows),
        CLF__INT(ranges->sequences),
        CLF__INT(heads->count),
        CLF__INT(ranges->max_queries),
        CLF__INT(ranges->max_keys),
        CLF__FLOAT(heads->scale),
        CLF__INT(mask->causal),
        CLF__DROPOUT(call->dropout),
    };
    const struct clf__launch launch = {
        .program = "attention_backward",
        .defines = defines,
        .cpu = CLF__GRID(part->kernel, clf__groups(part->tasks)),
        .gpu = CLF__GRID(part->kernel, clf__groups(part->tasks)),
        .arguments = arguments,
        .argument_count = (int)(sizeof arguments / sizeof *arguments) - (has_dropout ? 0 : 6),
        .cost = count_cost(call, operands->q.rows, part),
    };
    return clf__launch(device, &launch);
}

/* Launches one kernel in the CPU variant. The GPU variant has separate kernels for the statistics, dq, dk,
 * dv and the partials, and each recomputes the weights. */
static clf_status launch_all(const struct operands *operands)
{
    const struct clf__heads *heads = &operands->call->heads;
    const struct clf__sequence_ranges *ranges = &operands->call->ranges;
    double key_width = heads->key_width, value_width = heads->value_width;
    size_t tasks = (size_t)ranges->sequences * (size_t)heads->count;
    if (clf__device_caps(clf__buffer_device(operands->dy.buffer))->variant == CLF_VARIANT_CPU) {
        const struct part whole = {"attention_backward_cpu", tasks, 3.0 * key_width + 2.0 * value_width};
        return launch(operands, &whole);
    }
    size_t query_blocks = ((size_t)ranges->max_queries + BLOCK - 1) / BLOCK * tasks;
    size_t key_blocks = ((size_t)ranges->max_keys + BLOCK - 1) / BLOCK * tasks;
    int widest = heads->key_width > heads->value_width ? heads->key_width : heads->value_width;
    int slices = (widest + MOST_SLICE - 1) / MOST_SLICE, slice = (widest + slices - 1) / slices;
    size_t key_slices = ((size_t)heads->key_width + (size_t)slice - 1) / (size_t)slice;
    size_t value_slices = ((size_t)heads->value_width + (size_t)slice - 1) / (size_t)slice;
    double many_key = (double)key_slices, many_value = (double)value_slices;
    const struct part parts[] = {
        {"attention_backward_statistics_gpu", query_blocks, key_width},
        {"attention_backward_queries_gpu", query_blocks * key_slices,
         many_key * (key_width + value_width) + key_width},
        {"attention_backward_keys_gpu", key_blocks * key_slices,
         many_key * (key_width + value_width) + key_width},
        {"attention_backward_values_gpu", key_blocks * value_slices, many_value * key_width + value_width},
        {"attention_backward_partials_gpu", tasks, key_width + value_width},
    };
    size_t count = sizeof parts / sizeof *parts - (operands->gradients->relative.buffer ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].tasks > 0) {
            CLF__TRY(launch(operands, &parts[i]));
        }
    }
    return CLF_OK;
}

/* Sums the gradients of the relative bias over the sequences. */
static clf_status add_relative(const struct operands *operands)
{
    const struct clf__attention_gradients *gradients = operands->gradients;
    const struct clf__heads *heads = &operands->call->heads;
    int sequences = operands->call->ranges.sequences, width = gradients->relative.columns;
    struct clf_device *device = clf__buffer_device(operands->dy.buffer);
    char defines[96];
    write_defines(defines, sizeof defines, operands->call);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(gradients->relative),
        CLF__VECTOR(gradients->scratch),
        CLF__INT(operands->q.rows),
        CLF__INT(sequences),
        CLF__INT(heads->count),
        CLF__INT(width),
    };
    double elements = (double)heads->count * width;
    const struct clf__launch launch = {
        .program = "attention_backward",
        .defines = defines,
        CLF__GRIDS("attention_backward_relative", clf__groups((size_t)heads->count)),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = elements * sequences, .bytes = elements * (sequences + 2.0) * sizeof(float)},
    };
    return clf__launch(device, &launch);
}

clf_status clf__attention_backward(const struct clf__attention_gradients *gradients, struct clf__tensor dy,
                                   struct clf__tensor q, struct clf__tensor k, struct clf__tensor v,
                                   struct clf__tensor y, const struct clf__attention_call *call)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    assert(q.columns == call->heads.count * call->heads.key_width && k.columns == q.columns);
    assert(y.columns == call->heads.count * call->heads.value_width && v.columns == y.columns);
    assert(dy.columns == y.columns && gradients->query.columns == q.columns);
    assert(gradients->key.columns == k.columns && gradients->value.columns == v.columns);
    assert(ranges->table.stride == 4 || ranges->sequences < 2);
    int relative_width = gradients->relative.buffer ? gradients->relative.columns : 0;
    assert((size_t)gradients->scratch.columns >=
           clf__attention_backward_scratch(&call->heads, q.rows, ranges->sequences, relative_width));
    assert(relative_width == 0 || relative_width == call->mask.relative.columns);
    if (ranges->sequences == 0) {
        return CLF_OK;
    }
    const struct operands operands = {gradients, dy, q, k, v, y, call};
    CLF__TRY(launch_all(&operands));
    return relative_width > 0 ? add_relative(&operands) : CLF_OK;
}
