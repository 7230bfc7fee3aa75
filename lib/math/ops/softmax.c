#include "math/ops/softmax.h"

#include "math/ops/rows.h"

/* Completes and runs a launch whose kernel names are set; the first two views are the result and x. */
static clf_status launch(struct clf__rows_launch launch, const struct clf__tensor *views, int view_count,
                         double operations, double matrices)
{
    struct clf__tensor x = views[1];
    launch.program = "softmax";
    launch.views = views;
    launch.view_count = view_count;
    launch.rows = x.rows;
    launch.columns = x.columns;
    launch.cost = clf__rows_cost(x.rows, x.columns, operations, matrices);
    return clf__rows_launch(&launch);
}

clf_status clf__softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    return launch((struct clf__rows_launch){CLF__KERNELS("softmax_forward")}, views, 2, 5, 2);
}

clf_status clf__log_softmax_forward(struct clf__tensor y, struct clf__tensor x)
{
    const struct clf__tensor views[] = {y, x};
    return launch((struct clf__rows_launch){CLF__KERNELS("log_softmax_forward")}, views, 2, 5, 2);
}

clf_status clf__log_softmax_pick(struct clf__tensor picked, struct clf__tensor x, struct clf__tensor targets)
{
    const struct clf__tensor views[] = {picked, x, targets};
    return launch((struct clf__rows_launch){CLF__KERNELS("log_softmax_pick")}, views, 3, 4, 1);
}
