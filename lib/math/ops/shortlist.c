#include "math/ops/shortlist.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

clf_status clf__shortlist_logits(struct clf__tensor logits, struct clf__tensor x, struct clf__tensor weight,
                                 const struct clf__buffer *bias, float scale, struct clf__tensor ids,
                                 struct clf__tensor starts, struct clf__tensor counts)
{
    assert(logits.rows == x.rows && x.columns == weight.columns);
    assert(starts.columns >= x.rows && counts.columns >= x.rows);
    if (x.rows == 0 || logits.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(logits.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(logits),  CLF__OPERAND(x),     CLF__OPERAND(weight),     CLF__VECTOR(ids),
        CLF__VECTOR(starts),   CLF__VECTOR(counts), CLF__BUFFER(bias),        CLF__INT(weight.rows),
        CLF__INT(ids.columns), CLF__INT(x.rows),    CLF__INT(logits.columns), CLF__INT(x.columns),
        CLF__FLOAT(scale),
    };
    size_t blocks = ((size_t)logits.columns + CLF__GROUP - 1) / CLF__GROUP;
    double products = (double)x.rows * logits.columns * x.columns;
    const struct clf__launch launch = {
        .program = "shortlist",
        .cpu = CLF__GRID("shortlist_logits_cpu", clf__groups((size_t)x.rows)),
        .gpu = CLF__GRID("shortlist_logits_gpu", clf__groups((size_t)x.rows), blocks),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = 2 * products, .bytes = products * sizeof(float)},
    };
    return clf__launch(device, &launch);
}

clf_status clf__shortlist_words(struct clf__tensor positions, struct clf__tensor ids,
                                struct clf__tensor starts, struct clf__tensor counts)
{
    assert(starts.columns >= positions.rows && counts.columns >= positions.rows);
    if (positions.rows == 0 || positions.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(positions.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(positions), CLF__VECTOR(ids),         CLF__VECTOR(starts),         CLF__VECTOR(counts),
        CLF__INT(ids.columns),   CLF__INT(positions.rows), CLF__INT(positions.columns),
    };
    size_t elements = (size_t)positions.rows * (size_t)positions.columns;
    const struct clf__launch launch = {
        .program = "shortlist",
        .cpu = CLF__GRID("shortlist_words_cpu", 1),
        .gpu = CLF__GRID("shortlist_words_gpu", (elements + CLF__GROUP - 1) / CLF__GROUP),
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes = 12.0 * (double)elements},
    };
    return clf__launch(device, &launch);
}
