#include "math/ops/mask.h"

#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

clf_status clf__mask_forward(struct clf__tensor scores, const struct clf__sequence_ranges *ranges, int heads,
                             const struct clf__mask *mask)
{
    if (scores.rows == 0 || scores.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(scores.buffer);
    int terms = (mask->additive.buffer != NULL) + (mask->relative.buffer != NULL);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(scores),
        CLF__INT(scores.rows),
        CLF__INT(scores.columns),
        CLF__VECTOR(ranges->table),
        CLF__VECTOR(mask->hidden_keys),
        CLF__OPERAND(mask->additive),
        CLF__OPERAND(mask->relative),
        CLF__INT((mask->relative.columns - 1) / 2),
        CLF__INT(heads),
        CLF__INT(ranges->max_queries),
        CLF__INT(mask->causal),
    };
    const struct clf__launch launch = {
        .program = "mask",
        .cpu = CLF__GRID("mask_forward_cpu", clf__groups(((size_t)scores.rows + 15) / 16)),
        .gpu = CLF__GRID("mask_forward_gpu", clf__groups((size_t)scores.rows)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(scores.rows, scores.columns, terms, 2 + (mask->additive.buffer != NULL)),
    };
    return clf__launch(device, &launch);
}

void clf__ranges_count(struct clf__sequence_ranges *ranges, const int32_t *table, int causal)
{
    ranges->keys = ranges->pairs = 0.0;
    for (int b = 0; b < ranges->sequences; b++) {
        double queries = table[4 * b + 1], keys = table[4 * b + 3];
        double hidden = causal ? queries * (queries - 1.0) / 2.0 : 0.0;
        ranges->keys += keys;
        ranges->pairs += queries * keys - hidden;
    }
}
