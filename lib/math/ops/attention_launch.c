#include "math/ops/attention_launch.h"

struct clf__cost clf__attention_cost(const struct clf__heads *heads, double queries, double keys,
                                     enum clf__type key_type, double pairs)
{
    double widths = heads->key_width + heads->value_width;
    double read = queries * sizeof(float) + keys * (double)clf__type_bytes(key_type);
    /* Five operations per pair in addition to the two dot products: scale, maximum, difference, exp and
     * sum. */
    return (struct clf__cost){.operations = heads->count * pairs * (2.0 * widths + 5.0),
                              .bytes = heads->count * widths * read};
}

struct clf__cost clf__attention_join_cost(const struct clf__heads *heads, int rows, int parts)
{
    double sums = (double)rows * heads->count * parts * (heads->value_width + 2.0);
    return (struct clf__cost){.operations = 3.0 * sums, .bytes = sizeof(float) * sums};
}

struct clf__cost clf__attention_call_cost(const struct clf__attention_operands *operands,
                                          const struct clf__attention_call *call)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    double sequences = ranges->sequences, keys = ranges->keys, pairs = ranges->pairs;
    if (pairs <= 0.0) {
        keys = sequences * ranges->max_keys;
        pairs = sequences * ranges->max_queries * ranges->max_keys;
    }
    return clf__attention_cost(&call->heads, operands->q.rows, keys, operands->k.type, pairs);
}

int clf__attention_takes_rows(const struct clf__attention_call *call)
{
    return call->few_queries && call->dropout.rate == 0.0f;
}

struct clf__attention_sizes clf__attention_sizes_of(const struct clf__attention_operands *operands,
                                                    const struct clf__attention_call *call)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__mask *mask = &call->mask;
    return (struct clf__attention_sizes){
        CLF__ATTENTION_PLACES(*operands),
        .ranges = CLF__PLACE(ranges->table),
        .hidden = CLF__PLACE(mask->hidden_keys),
        .additive = CLF__PLACE(mask->additive),
        .relative = CLF__PLACE(mask->relative),
        .reach = (mask->relative.columns - 1) / 2,
        .sequences = ranges->sequences,
        .heads = call->heads.count,
        .max_queries = ranges->max_queries,
        .scale = call->heads.scale,
        .causal = mask->causal,
        .parts = 1,
    };
}

int clf__attention_is_aligned(struct clf__tensor x, int width, int unit)
{
    return x.offset % (size_t)unit == 0 && x.stride % unit == 0 && width % unit == 0;
}

int clf__attention_has_quads(const struct clf__heads *heads, struct clf__tensor q, struct clf__tensor k,
                             struct clf__tensor v)
{
    enum { QUAD = 4 };
    return clf__attention_is_aligned(q, heads->key_width, QUAD) &&
           clf__attention_is_aligned(k, heads->key_width, QUAD) &&
           clf__attention_is_aligned(v, heads->value_width, QUAD);
}

clf_status clf__attention_count_tasks(size_t *tasks, const struct clf__attention_call *call, int block,
                                      size_t slices)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    size_t blocks = ((size_t)ranges->max_queries + (size_t)block - 1) / (size_t)block;
    *tasks = (size_t)ranges->sequences * (size_t)call->heads.count * blocks * slices;
    return *tasks <= INT32_MAX
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "attention: %d sequences of up to %d queries with %d heads need %zu work-items, "
                           "more than the limit of %d; use a smaller --batch-tokens",
                           ranges->sequences, ranges->max_queries, call->heads.count, *tasks, INT32_MAX);
}

const char *clf__result_define(struct clf__tensor y)
{
    return y.type == CLF__F16 ? " -DRESULT_PRECISION=1" : y.type == CLF__BF16 ? " -DRESULT_PRECISION=2" : "";
}
