#include "ops/embedding.h"

#include <assert.h>

#include "ops/rows.h"

clf_status clf__embedding_forward(struct clf__tensor y, struct clf__tensor ids,
                                  const struct clf__weight *weight, float scale)
{
    assert(y.columns == clf__weight_inputs(weight) && y.rows == ids.columns);
    struct clf__weight_layout layout = clf__weight_layout(weight);
    const struct clf__tensor views[] = {y, ids};
    const struct clf__argument extras[] = {CLF__BUFFER(layout.buffer), CLF__INT(layout.panel),
                                           CLF__INT(clf__weight_outputs(weight)), CLF__FLOAT(scale)};
    static const char *const defines[] = {"-DPRECISION=0", "-DPRECISION=1", "-DPRECISION=2", "-DPRECISION=3"};
    struct clf__rows_launch launch = {.program = "embedding",
                                      .defines = defines[layout.precision],
                                      .cpu_kernel = "embedding_forward_cpu",
                                      .gpu_kernel = "embedding_forward_gpu",
                                      .views = views,
                                      .view_count = 2,
                                      .rows = y.rows,
                                      .columns = y.columns,
                                      .extras = extras,
                                      .extra_count = 4,
                                      .cost = clf__rows_cost(y.rows, y.columns, 1, 2)};
    return clf__rows_launch(&launch);
}
