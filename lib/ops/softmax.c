#include "ops/softmax.h"

#include "ops/rows.h"

clf_status clf__softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    struct clf__rows_launch launch = {.program = "softmax",
                                      CLF__KERNELS("softmax_forward"),
                                      CLF__VIEWS(views),
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 5, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__log_softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    struct clf__rows_launch launch = {.program = "softmax",
                                      CLF__KERNELS("log_softmax_forward"),
                                      CLF__VIEWS(views),
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 5, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__log_softmax_pick(struct clf__tensor picked, struct clf__tensor x, struct clf__tensor targets)
{
    const struct clf__tensor views[] = {picked, x, targets};
    struct clf__rows_launch launch = {.program = "softmax",
                                      CLF__KERNELS("log_softmax_pick"),
                                      CLF__VIEWS(views),
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 4, 1)};
    return clf__rows_launch(&launch);
}
