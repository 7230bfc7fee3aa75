#include "math/ops/draw.h"

#include <assert.h>

#include "math/ops/rows.h"

clf_status clf__draw_forward(struct clf__tensor values, struct clf__tensor ids, struct clf__tensor found,
                             struct clf__tensor logits, struct clf__tensor ranges, struct clf__tensor draws,
                             int first_row)
{
    int each = values.columns;
    assert(ids.columns == each && found.columns == each && ranges.columns == 2 * each);
    assert(draws.columns == CLF__DRAW_WORDS && ranges.rows == logits.rows);
    const struct clf__tensor views[] = {values, ids, found, logits, ranges, draws};
    const struct clf__argument extras[] = {CLF__INT(each), CLF__INT(first_row), CLF__LOCAL(CLF__GROUP * 8)};
    struct clf__rows_launch launch = {.program = "draw",
                                      CLF__KERNELS("draw_forward"),
                                      CLF__VIEWS(views),
                                      .rows = draws.rows * each,
                                      .columns = logits.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(draws.rows, logits.columns, 25, 1)};
    return clf__rows_launch(&launch);
}
