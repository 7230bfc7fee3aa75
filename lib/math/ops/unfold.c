#include "math/ops/unfold.h"

#include <assert.h>

#include "math/ops/rows.h"

clf_status clf__unfold_forward(struct clf__tensor y, struct clf__tensor x, int width, int step)
{
    assert(width > 0 && step > 0 && y.columns % width == 0 && y.columns / width == x.columns);
    const struct clf__tensor views[] = {y, x};
    const struct clf__argument extras[] = {CLF__INT(x.rows), CLF__INT(width), CLF__INT(step)};
    struct clf__rows_launch launch = {.program = "unfold",
                                      CLF__KERNELS("unfold_forward"),
                                      CLF__VIEWS(views),
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(y.rows, y.columns, 0, 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__unfold_backward(struct clf__tensor dx, struct clf__tensor dy, int width, int step)
{
    assert(width > 0 && step > 0 && dy.columns % width == 0 && dy.columns / width == dx.columns);
    const struct clf__tensor views[] = {dx, dy};
    const struct clf__argument extras[] = {CLF__INT(dy.rows), CLF__INT(width), CLF__INT(step)};
    double read = (double)dy.rows * dy.columns, written = (double)dx.rows * dx.columns;
    struct clf__rows_launch launch = {
        .program = "unfold",
        CLF__KERNELS("unfold_backward"),
        CLF__VIEWS(views),
        .rows = dx.rows,
        .columns = dx.columns,
        CLF__EXTRAS(extras),
        .cost = {.operations = read, .bytes = (read + written) * sizeof(float)}};
    return clf__rows_launch(&launch);
}
