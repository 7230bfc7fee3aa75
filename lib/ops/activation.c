#include "ops/activation.h"

#include "ops/rows.h"

/* [kind] */
static const char *const defines[] = {"-DACTIVATION=0", "-DACTIVATION=1", "-DACTIVATION=2", "-DACTIVATION=3",
                                      "-DACTIVATION=4"};

clf_status clf__activation_forward(struct clf__tensor y, struct clf__tensor x, enum clf__activation kind)
{
    const struct clf__tensor views[] = {y, x};
    struct clf__rows_launch launch = {.program = "activation",
                                      .cpu_kernel = "activation_forward_cpu",
                                      .gpu_kernel = "activation_forward_gpu",
                                      .defines = defines[kind],
                                      .views = views,
                                      .view_count = 2,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 1, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__activation_backward(struct clf__tensor dx, struct clf__tensor dy, struct clf__tensor x,
                                    enum clf__activation kind)
{
    const struct clf__tensor views[] = {dx, dy, x};
    struct clf__rows_launch launch = {.program = "activation",
                                      .cpu_kernel = "activation_backward_cpu",
                                      .gpu_kernel = "activation_backward_gpu",
                                      .defines = defines[kind],
                                      .views = views,
                                      .view_count = 3,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 2, 3)};
    return clf__rows_launch(&launch);
}

clf_status clf__gate_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor gate,
                             enum clf__activation kind)
{
    const struct clf__tensor views[] = {y, x, gate};
    struct clf__rows_launch launch = {.program = "activation",
                                      .cpu_kernel = "gate_forward_cpu",
                                      .gpu_kernel = "gate_forward_gpu",
                                      .defines = defines[kind],
                                      .views = views,
                                      .view_count = 3,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 2, 3)};
    return clf__rows_launch(&launch);
}

clf_status clf__gate_backward(struct clf__tensor dx, struct clf__tensor dgate, struct clf__tensor dy,
                              struct clf__tensor x, struct clf__tensor gate, enum clf__activation kind)
{
    const struct clf__tensor views[] = {dx, dgate, dy, x, gate};
    struct clf__rows_launch launch = {.program = "activation",
                                      .cpu_kernel = "gate_backward_cpu",
                                      .gpu_kernel = "gate_backward_gpu",
                                      .defines = defines[kind],
                                      .views = views,
                                      .view_count = 5,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, 5, 5)};
    return clf__rows_launch(&launch);
}
