#include "math/ops/activation.h"

#include "math/ops/rows.h"

/* Launches a pointwise kernel; every view has the shape of x and is read or written once. */
static clf_status launch(const char *cpu_kernel, const char *gpu_kernel, const struct clf__tensor *views,
                         int count, struct clf__tensor x, enum clf__activation kind, double operations)
{
    struct clf__rows_launch launch = {.program = "activation",
                                      .cpu_kernel = cpu_kernel,
                                      .gpu_kernel = gpu_kernel,
                                      .defines = clf__activation_define(kind),
                                      .views = views,
                                      .view_count = count,
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      .cost = clf__rows_cost(x.rows, x.columns, operations, count)};
    return clf__rows_launch(&launch);
}

clf_status clf__activation_forward(struct clf__tensor y, struct clf__tensor x, enum clf__activation kind)
{
    const struct clf__tensor views[] = {y, x};
    return launch("activation_forward_cpu", "activation_forward_gpu", views, 2, x, kind, 1);
}

clf_status clf__activation_backward(struct clf__tensor dx, struct clf__tensor dy, struct clf__tensor x,
                                    enum clf__activation kind)
{
    const struct clf__tensor views[] = {dx, dy, x};
    return launch("activation_backward_cpu", "activation_backward_gpu", views, 3, x, kind, 2);
}

clf_status clf__gate_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor gate,
                             enum clf__activation kind)
{
    const struct clf__tensor views[] = {y, x, gate};
    return launch("gate_forward_cpu", "gate_forward_gpu", views, 3, x, kind, 2);
}

clf_status clf__gate_backward(struct clf__tensor dx, struct clf__tensor dgate, struct clf__tensor dy,
                              struct clf__tensor x, struct clf__tensor gate, enum clf__activation kind)
{
    const struct clf__tensor views[] = {dx, dgate, dy, x, gate};
    return launch("gate_backward_cpu", "gate_backward_gpu", views, 5, x, kind, 5);
}
