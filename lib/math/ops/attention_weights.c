#include <assert.h>

#include "math/ops/attention.h"
#include "math/ops/cache.h"
#include "math/ops/operand.h"

clf_status clf__attention_weights_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                          int heads, const struct clf__attention_call *call)
{
    const struct clf__sequence_ranges *ranges = &call->ranges;
    const struct clf__mask *mask = &call->mask;
    assert(heads > 0 && heads <= call->heads.count && q.columns == k.columns);
    assert(!mask->causal && mask->additive.buffer == NULL && mask->relative.buffer == NULL);
    size_t rows = (size_t)ranges->sequences * (size_t)ranges->max_queries;
    if (rows == 0) {
        return CLF_OK;
    }
    /* Operations per pair: the dot product, twice, and the probability. */
    double pairs = ranges->pairs > 0.0 ? ranges->pairs : (double)q.rows * ranges->max_keys;
    double keys = ranges->keys > 0.0 ? ranges->keys : (double)ranges->sequences * ranges->max_keys;
    double width = call->heads.key_width;
    const struct clf__attention_sizes sizes = {
        .y = CLF__PLACE(y),
        .q = CLF__PLACE(q),
        .k = CLF__PLACE(k),
        .ranges = CLF__PLACE(ranges->table),
        .hidden = CLF__PLACE(mask->hidden_keys),
        .sequences = ranges->sequences,
        .heads = heads,
        .max_queries = ranges->max_queries,
        .scale = call->heads.scale,
    };
    const struct clf__argument arguments[] = {
        CLF__BUFFER(y.buffer),
        CLF__BUFFER(q.buffer),
        CLF__BUFFER(k.buffer),
        CLF__BUFFER(ranges->table.buffer),
        CLF__BUFFER(mask->hidden_keys.buffer),
        CLF__STRUCT(sizes),
        CLF__INT(call->heads.key_width),
        CLF__INT(y.columns),
    };
    const struct clf__launch launch = {
        .program = "attention_weights",
        .defines = clf__cache_define(k),
        CLF__GRIDS("attention_weights", clf__groups(rows)),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = heads * pairs * (4.0 * width + 8.0),
                 .bytes = (heads * q.rows * width + pairs) * sizeof(float) +
                          heads * keys * width * (double)clf__type_bytes(k.type)},
    };
    return clf__launch(clf__buffer_device(y.buffer), &launch);
}
