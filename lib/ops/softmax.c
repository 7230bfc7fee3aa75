#include "ops/softmax.h"

#include "ops/rows.h"

clf_status clf__softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    struct clf__rows_launch launch = {.program = "softmax",
                                      .cpu_kernel = "softmax_forward_cpu",
                                      .gpu_kernel = "softmax_forward_gpu",
                                      .views = views,
                                      .view_count = 2,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 5, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__log_softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    struct clf__rows_launch launch = {.program = "softmax",
                                      .cpu_kernel = "log_softmax_forward_cpu",
                                      .gpu_kernel = "log_softmax_forward_gpu",
                                      .views = views,
                                      .view_count = 2,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 5, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__log_softmax_pick(struct clf__tensor picked, struct clf__tensor x, struct clf__tensor targets)
{
    const struct clf__tensor views[] = {picked, x, targets};
    struct clf__rows_launch launch = {.program = "softmax",
                                      .cpu_kernel = "log_softmax_pick_cpu",
                                      .gpu_kernel = "log_softmax_pick_gpu",
                                      .views = views,
                                      .view_count = 3,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 4, 1)};
    return clf__rows_launch(&launch);
}
