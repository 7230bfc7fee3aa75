#include "ops/unfold.h"

#include <assert.h>

#include "ops/rows.h"

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
