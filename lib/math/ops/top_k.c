#include "math/ops/top_k.h"

#include <assert.h>

#include "math/ops/rows.h"

clf_status clf__top_k_check(int k)
{
    if (k < 1 || k > CLF__TOP_K_LIMIT) {
        return clf__fail(
            CLF_UNSUPPORTED,
            "top-k: %d candidates per row were requested, but the limit is 1 to %d; use a smaller --beam", k,
            CLF__TOP_K_LIMIT);
    }
    return CLF_OK;
}

clf_status clf__top_k_forward(struct clf__tensor values, struct clf__tensor ids,
                              struct clf__tensor statistics, struct clf__tensor logits,
                              struct clf__tensor banned, struct clf__tensor banned_offsets, int both)
{
    int k = values.columns;
    assert(ids.columns == k && statistics.columns == 4 && banned_offsets.columns == logits.rows + 1);
    CLF__TRY(clf__top_k_check(k));
    const struct clf__tensor views[] = {values, ids, statistics, logits, banned, banned_offsets};
    const struct clf__argument extras[] = {CLF__INT(k), CLF__INT(banned.columns), CLF__INT(both),
                                           CLF__LOCAL(CLF__LONG_GROUP * 4), CLF__LOCAL(CLF__LONG_GROUP * 8)};
    struct clf__rows_launch launch = {.program = "top_k",
                                      CLF__KERNELS("top_k_forward"),
                                      CLF__VIEWS(views),
                                      .rows = logits.rows,
                                      .columns = logits.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(logits.rows, logits.columns, both ? 8 : 5, 1),
                                      .has_long_rows = 1};
    return clf__rows_launch(&launch);
}

clf_status clf__top_k_ranges(struct clf__tensor values, struct clf__tensor ids, struct clf__tensor statistics,
                             struct clf__tensor logits, struct clf__tensor ranges)
{
    int each = ranges.columns / 2, k = each > 0 ? values.columns / each : 0;
    assert(each > 0 && values.columns == each * k && ids.columns == each * k);
    assert(statistics.columns == 2 * each && ranges.columns == 2 * each && ranges.rows == logits.rows);
    CLF__TRY(clf__top_k_check(k));
    const struct clf__tensor views[] = {values, ids, statistics, logits, ranges};
    const struct clf__argument extras[] = {CLF__INT(each), CLF__INT(k), CLF__LOCAL(CLF__LONG_GROUP * 4),
                                           CLF__LOCAL(CLF__LONG_GROUP * 8)};
    struct clf__rows_launch launch = {.program = "top_k",
                                      CLF__KERNELS("top_k_ranges"),
                                      CLF__VIEWS(views),
                                      .rows = logits.rows * each,
                                      .columns = logits.columns,
                                      CLF__EXTRAS(extras),
                                      .cost = clf__rows_cost(logits.rows, logits.columns, 5, 1),
                                      .has_long_rows = 1};
    return clf__rows_launch(&launch);
}
