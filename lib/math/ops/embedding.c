#include "math/ops/embedding.h"

#include <assert.h>
#include <string.h>

#include "math/ops/rows.h"

clf_status clf__embedding_forward(struct clf__tensor y, struct clf__tensor ids,
                                  const struct clf__weight *weight, float scale, struct clf__tensor table,
                                  struct clf__tensor positions)
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
        CLF__KERNELS("embedding_forward"),
        CLF__VIEWS(views),
        .rows = y.rows,
        .columns = y.columns,
        CLF__EXTRAS(extras),
        .cost = clf__rows_cost(y.rows, y.columns, table.buffer ? 2 : 1, table.buffer ? 3 : 2)};
    return clf__rows_launch(&launch);
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* target = the indices in `source`, stably sorted by one digit of their ids (radix sort). */
static void sort_by_digit(int32_t *target, const int32_t *source, const int32_t *ids, int count, int shift)
{
    int place[DIGITS + 1] = {0};
    for (int i = 0; i < count; i++) {
        place[(ids[i] >> shift) % DIGITS + 1]++;
    }
    for (int digit = 0; digit < DIGITS; digit++) {
        place[digit + 1] += place[digit];
    }
    for (int i = 0; i < count; i++) {
        target[place[(ids[source[i]] >> shift) % DIGITS]++] = source[i];
    }
}

clf_status clf__gather_ids(int32_t *distinct, int32_t *first, int32_t *order, int *distinct_count,
                           const int32_t *ids, int count)
{
    int32_t largest = 0;
    for (int i = 0; i < count; i++) {
        if (ids[i] < 0) {
            return clf__fail(CLF_BAD_ARGUMENT, "batch: id %d of %d is %d; ids must be 0 or more", i, count,
                             (int)ids[i]);
        }
        largest = ids[i] > largest ? ids[i] : largest;
        order[i] = i;
    }
    /* `distinct` is scratch memory of the sort until the distinct ids are written. */
    for (int shift = 0; shift < 31 && (largest >> shift) > 0; shift += DIGIT_BITS) {
        sort_by_digit(distinct, order, ids, count, shift);
        memcpy(order, distinct, (size_t)count * sizeof *order);
    }
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (i == 0 || ids[order[i]] != ids[order[i - 1]]) {
            distinct[found] = ids[order[i]];
            first[found++] = i;
        }
    }
    first[found] = count;
    *distinct_count = found;
    return CLF_OK;
}

clf_status clf__embedding_backward(struct clf__weight *dweight, struct clf__tensor dy,
                                   const struct clf__id_groups *id_groups, float scale)
{
    struct clf__weight_layout layout = clf__weight_layout(dweight);
    assert(layout.precision == CLF__PRECISION_FP32 && layout.group == 1);
    assert(dy.columns == clf__weight_inputs(dweight) && id_groups->order.columns == dy.rows);
    const struct clf__tensor views[] = {dy, id_groups->distinct, id_groups->first, id_groups->order};
    const struct clf__argument extras[] = {CLF__BUFFER(layout.buffer), CLF__INT(layout.panel),
                                           CLF__INT(clf__weight_outputs(dweight)), CLF__FLOAT(scale),
                                           CLF__INT(dy.rows)};
    int ids = id_groups->distinct.columns;
    struct clf__rows_launch launch = {.program = "embedding",
                                      .defines = "-DPRECISION=0",
                                      CLF__KERNELS("embedding_backward"),
                                      CLF__VIEWS(views),
                                      .rows = ids,
                                      .columns = dy.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(dy.rows + 2 * ids, dy.columns, 1, 1)};
    return clf__rows_launch(&launch);
}
