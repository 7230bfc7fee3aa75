#include "ops/embedding.h"

#include <assert.h>

#include "ops/rows.h"

clf_status clf__embedding_forward(struct clf__tensor y, struct clf__tensor ids,
                                  const struct clf__weight *weight, float scale)
{
    const struct clf__tensor none = {.buffer = NULL};
    return clf__embedding_positions_forward(y, ids, weight, scale, none, none);
}

clf_status clf__embedding_positions_forward(struct clf__tensor y, struct clf__tensor ids,
                                            const struct clf__weight *weight, float scale,
                                            struct clf__tensor table, struct clf__tensor positions)
{
    assert(y.columns == clf__weight_inputs(weight) && y.rows == ids.columns);
    assert(table.buffer == NULL || (table.columns == y.columns && positions.columns == y.rows));
    struct clf__weight_layout layout = clf__weight_layout(weight);
    const struct clf__tensor views[] = {y, ids, table, positions};
    const struct clf__argument extras[] = {CLF__BUFFER(layout.buffer), CLF__INT(layout.panel),
                                           CLF__INT(clf__weight_outputs(weight)), CLF__FLOAT(scale),
                                           CLF__INT(table.rows)};
    static const char *const defines[] = {"-DPRECISION=0", "-DPRECISION=1", "-DPRECISION=2", "-DPRECISION=3"};
    struct clf__rows_launch launch = {
        .program = "embedding",
        .defines = defines[layout.precision],
        .cpu_kernel = "embedding_forward_cpu",
        .gpu_kernel = "embedding_forward_gpu",
        .views = views,
        .view_count = 4,
        .rows = y.rows,
        .columns = y.columns,
        .extras = extras,
        .extra_count = 5,
        .cost = clf__rows_cost(y.rows, y.columns, table.buffer ? 2 : 1, table.buffer ? 3 : 2)};
    return clf__rows_launch(&launch);
}
