#include "ops/cache.h"

#include <assert.h>

#include "device/caps.h"
#include "ops/operand.h"
#include "ops/rows.h"

clf_status clf__cache_place(struct clf__tensor cache, struct clf__tensor x, struct clf__tensor places)
{
    assert(cache.columns == x.columns && places.columns >= x.rows);
    if (x.rows == 0 || x.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(cache.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(cache), CLF__INT(cache.rows), CLF__OPERAND(x),
        CLF__VECTOR(places), CLF__INT(x.rows),     CLF__INT(x.columns),
    };
    const struct clf__launch launch = {
        .program = "cache",
        CLF__GRIDS("cache_place", clf__groups((size_t)x.rows)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(x.rows, x.columns, 0, 2),
    };
    return clf__launch(device, &launch);
}

clf_status clf__cache_follow(struct clf__tensor next, struct clf__tensor history,
                             struct clf__tensor cache_rows, struct clf__tensor parents,
                             struct clf__tensor positions)
{
    assert(next.buffer != history.buffer && next.rows == history.rows && next.columns == history.columns);
    if (cache_rows.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(next.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(next),      CLF__OPERAND(history), CLF__INT(next.rows),    CLF__INT(next.columns),
        CLF__VECTOR(cache_rows), CLF__VECTOR(parents),  CLF__VECTOR(positions), CLF__INT(cache_rows.columns),
    };
    const struct clf__launch launch = {
        .program = "cache",
        CLF__GRIDS("cache_follow", clf__groups((size_t)cache_rows.columns)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(cache_rows.columns, next.columns, 0, 2), /* of the longest histories */
    };
    return clf__launch(device, &launch);
}
