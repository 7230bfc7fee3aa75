#include "support/id_groups.h"

#include <string.h>

/* Returns a tensor with an offset, so that a kernel that ignores offsets fails. */
static struct clf__tensor integers(struct clf_device *device, const int32_t *values, int count)
{
    enum { BEFORE = 2 };
    int32_t *padded = support_array((size_t)count + BEFORE, sizeof *padded);
    memcpy(padded + BEFORE, values, (size_t)count * sizeof *values);
    struct clf__tensor whole = support_tensor(device, CLF__I32, 1, count + BEFORE, padded);
    return clf__tensor_columns(whole, BEFORE, count);
}

struct clf__id_groups support_group_ids(struct clf_device *device, const int32_t *ids, int count)
{
    int32_t *distinct = support_array((size_t)count, sizeof *distinct);
    int32_t *first = support_array((size_t)count + 1, sizeof *first);
    int32_t *order = support_array((size_t)count, sizeof *order);
    int distinct_count = -1;
    assert_ok(clf__gather_ids(distinct, first, order, &distinct_count, ids, count));
    return (struct clf__id_groups){.distinct = integers(device, distinct, distinct_count),
                                   .first = integers(device, first, distinct_count + 1),
                                   .order = integers(device, order, count)};
}
