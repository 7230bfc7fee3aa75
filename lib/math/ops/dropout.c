#include "math/ops/dropout.h"

#include "math/ops/operand.h"
#include "math/ops/rows.h"

clf_status clf__dropout_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                const struct clf__dropout *dropout)
{
    const struct clf__tensor views[] = {y, x, residual};
    const struct clf__argument extras[] = {CLF__DROPOUT(*dropout)};
    int has_residual = residual.buffer != NULL;
    struct clf__rows_launch launch = {
        .program = "dropout",
        CLF__KERNELS("dropout_forward"),
        CLF__VIEWS(views),
        .rows = x.rows,
        .columns = x.columns,
        CLF__EXTRAS(extras),
        .cost = clf__rows_cost(x.rows, x.columns, has_residual ? 2 : 1, has_residual ? 3 : 2)};
    return clf__rows_launch(&launch);
}

clf_status clf__dropout_backward(struct clf__tensor dx, struct clf__tensor dy,
                                 const struct clf__dropout *dropout)
{
    return clf__dropout_forward(dx, dy, CLF__NO_TENSOR, dropout);
}
