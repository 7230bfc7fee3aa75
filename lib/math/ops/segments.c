#include "math/ops/segments.h"

#include <assert.h>

#include "math/ops/rows.h"

clf_status clf__segment_sums(struct clf__tensor y, struct clf__tensor x, struct clf__tensor segments)
{
    assert(x.columns == y.columns && segments.rows == y.rows && segments.columns == 2);
    const struct clf__tensor views[] = {y, x, segments};
    const struct clf__argument extras[] = {CLF__INT(x.rows)};
    struct clf__rows_launch launch = {.program = "segments",
                                      CLF__KERNELS("segment_sums"),
                                      CLF__VIEWS(views),
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(x.rows + y.rows, x.columns, 1, 1)};
    return clf__rows_launch(&launch);
}
