#include "math/ops/ssru.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

enum { OPERATIONS = 8 }; /* operations per element */

clf_status clf__ssru_step(struct clf__tensor y, struct clf__tensor projected, struct clf__tensor residual,
                          struct clf__tensor next, struct clf__tensor before, struct clf__tensor cache_rows,
                          struct clf__tensor parents, struct clf__tensor positions)
{
    assert(projected.columns == 2 * y.columns && residual.columns == y.columns);
    assert(next.buffer != before.buffer && next.columns == y.columns && before.columns == y.columns);
    const struct clf__tensor views[] = {y, projected, residual, next, before, cache_rows, parents, positions};
    const struct clf__argument extras[] = {CLF__INT(next.rows)};
    struct clf__rows_launch launch = {.program = "ssru",
                                      CLF__KERNELS("ssru_step"),
                                      CLF__VIEWS(views),
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(y.rows, y.columns, OPERATIONS, 6)};
    return clf__rows_launch(&launch);
}

clf_status clf__ssru_forward(struct clf__tensor y, struct clf__tensor projected, struct clf__tensor residual,
                             struct clf__tensor ranges)
{
    assert(projected.columns == 2 * y.columns && residual.columns == y.columns && ranges.columns == 4);
    if (ranges.rows == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(y.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(y),       CLF__OPERAND(projected), CLF__OPERAND(residual), CLF__OPERAND(ranges),
        CLF__INT(ranges.rows), CLF__INT(y.columns),     CLF__INT(y.rows),
    };
    const struct clf__launch launch = {
        .program = "ssru",
        .cpu = CLF__GRID("ssru_forward_cpu", clf__groups((size_t)ranges.rows)),
        .gpu = CLF__GRID("ssru_forward_gpu", clf__groups((size_t)ranges.rows),
                         ((size_t)y.columns + CLF__GROUP - 1) / CLF__GROUP),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(y.rows, y.columns, OPERATIONS, 4),
    };
    return clf__launch(device, &launch);
}
