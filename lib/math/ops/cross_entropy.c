#include "math/ops/cross_entropy.h"

#include <assert.h>

#include "math/ops/rows.h"

clf_status clf__cross_entropy(struct clf__tensor losses, struct clf__tensor dlogits,
                              struct clf__tensor logits, struct clf__tensor labels,
                              const struct clf__smoothing *smoothing, float scale)
{
    assert(losses.columns == 2 && labels.columns == logits.rows);
    assert(dlogits.buffer == NULL || dlogits.columns == logits.columns);
    const struct clf__tensor views[] = {losses, dlogits, logits, labels};
    const struct clf__argument extras[] = {CLF__FLOAT(smoothing->smoothing), CLF__FLOAT(smoothing->share),
                                           CLF__INT(smoothing->hidden_class), CLF__FLOAT(scale)};
    int has_gradient = dlogits.buffer != NULL;
    struct clf__rows_launch launch = {
        .program = "cross_entropy",
        CLF__KERNELS("cross_entropy"),
        CLF__VIEWS(views),
        .rows = logits.rows,
        .columns = logits.columns,
        CLF__EXTRAS(extras),
        .cost = clf__rows_cost(logits.rows, logits.columns, has_gradient ? 7 : 5, has_gradient ? 2 : 1)};
    return clf__rows_launch(&launch);
}
