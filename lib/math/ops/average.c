#include "math/ops/average.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

enum { MEAN_OPERATIONS = 3, GATE_OPERATIONS = 12 }; /* operations per element */

clf_status clf__average_step(struct clf__tensor m, struct clf__tensor x, struct clf__tensor next,
                             struct clf__tensor before, struct clf__tensor cache_rows,
                             struct clf__tensor parents, struct clf__tensor positions)
{
    assert(x.columns == m.columns && next.buffer != before.buffer);
    assert(next.columns == m.columns && before.columns == m.columns);
    const struct clf__tensor views[] = {m, x, next, before, cache_rows, parents, positions};
    const struct clf__argument extras[] = {CLF__INT(next.rows)};
    struct clf__rows_launch launch = {.program = "average",
                                      CLF__KERNELS("average_step"),
                                      CLF__VIEWS(views),
                                      .rows = m.rows,
                                      .columns = m.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(m.rows, m.columns, MEAN_OPERATIONS, 4)};
    return clf__rows_launch(&launch);
}

clf_status clf__average_forward(struct clf__tensor m, struct clf__tensor x, struct clf__tensor ranges)
{
    assert(x.columns == m.columns && ranges.columns == 4);
    if (ranges.rows == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(m.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(m),       CLF__OPERAND(x),     CLF__OPERAND(ranges),
        CLF__INT(ranges.rows), CLF__INT(m.columns), CLF__INT(m.rows),
    };
    const struct clf__launch launch = {
        .program = "average",
        .cpu = CLF__GRID("average_forward_cpu", clf__groups((size_t)ranges.rows)),
        .gpu = CLF__GRID("average_forward_gpu", clf__groups((size_t)ranges.rows),
                         ((size_t)m.columns + CLF__GROUP - 1) / CLF__GROUP),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(m.rows, m.columns, MEAN_OPERATIONS, 2),
    };
    return clf__launch(device, &launch);
}

clf_status clf__average_gate(struct clf__tensor y, struct clf__tensor x, struct clf__tensor h,
                             struct clf__tensor gates, struct clf__tensor residual)
{
    assert(x.columns == y.columns && h.columns == y.columns && residual.columns == y.columns);
    assert(gates.columns == 2 * y.columns);
    const struct clf__tensor views[] = {y, x, h, gates, residual};
    struct clf__rows_launch launch = {.program = "average",
                                      CLF__KERNELS("average_gate"),
                                      CLF__VIEWS(views),
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      .cost = clf__rows_cost(y.rows, y.columns, GATE_OPERATIONS, 6)};
    return clf__rows_launch(&launch);
}
