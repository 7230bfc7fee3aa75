#include "math/ops/positions.h"

#include <assert.h>
#include <math.h>

#include "math/ops/embedding.h"
#include "math/ops/rows.h"

clf_status clf__positions_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor table,
                                  struct clf__tensor positions)
{
    assert(x.columns == table.columns && x.rows == positions.columns);
    const struct clf__tensor views[] = {y, x, table, positions};
    const struct clf__argument extras[] = {CLF__INT(table.rows)};
    struct clf__rows_launch launch = {.program = "positions",
                                      CLF__KERNELS("positions_forward"),
                                      CLF__VIEWS(views),
                                      .rows = x.rows,
                                      .columns = x.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(x.rows, x.columns, 1, 3)};
    return clf__rows_launch(&launch);
}

clf_status clf__positions_backward(struct clf__tensor dtable, struct clf__tensor dy,
                                   const struct clf__id_groups *id_groups)
{
    assert(dy.columns == dtable.columns && id_groups->order.columns == dy.rows);
    const struct clf__tensor views[] = {dtable, dy, id_groups->distinct, id_groups->first, id_groups->order};
    const struct clf__argument extras[] = {CLF__INT(dtable.rows), CLF__INT(dy.rows)};
    int positions = id_groups->distinct.columns;
    struct clf__rows_launch launch = {.program = "positions",
                                      CLF__KERNELS("positions_backward"),
                                      CLF__VIEWS(views),
                                      .rows = positions,
                                      .columns = dy.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(dy.rows + 2 * positions, dy.columns, 1, 1)};
    return clf__rows_launch(&launch);
}

void clf__sinusoid_table(float *table, int first, int positions, int width, enum clf__sinusoid_layout layout,
                         enum clf__sinusoid_frequency frequency)
{
    /* With an odd width the last column is a sine, but zero in tensor2tensor and fairseq (halves,
     * BY_LAST). */
    int has_zeros =
        layout == CLF__SINUSOID_HALVES && frequency == CLF__SINUSOID_BY_LAST && width % 2 == 1 && width > 1;
    int pairs = has_zeros ? width / 2 : (width + 1) / 2;
    for (int p = 0; p < positions && has_zeros; p++) {
        table[(size_t)(p + 1) * (size_t)width - 1] = 0;
    }
    for (int i = 0; i < pairs; i++) {
        double exponent = frequency == CLF__SINUSOID_BY_WIDTH ? 2.0 * i / width
                          : pairs > 1                         ? (double)i / (pairs - 1)
                                                              : 0.0;
        double rate = pow(10000.0, -exponent);
        int sine = layout == CLF__SINUSOID_INTERLEAVED ? 2 * i : i;
        int cosine = layout == CLF__SINUSOID_INTERLEAVED ? 2 * i + 1 : pairs + i;
        for (int p = 0; p < positions; p++) {
            float *row = table + (size_t)p * (size_t)width;
            row[sine] = (float)sin((first + p) * rate);
            if (cosine < width) {
                row[cosine] = (float)cos((first + p) * rate);
            }
        }
    }
}
