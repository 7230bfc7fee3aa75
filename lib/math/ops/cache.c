#include "math/ops/cache.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

enum clf__type clf__cache_type(enum clf__precision precision)
{
    return precision == CLF__PRECISION_INT8 ? CLF__F16 : CLF__F32;
}

/* Returns the cost of copying rows of floats to the cache or back. */
static struct clf__cost moved(double rows, struct clf__tensor cache)
{
    return (struct clf__cost){.bytes = rows * cache.columns *
                                       (double)(sizeof(float) + clf__type_bytes(cache.type))};
}

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
        .defines = clf__cache_define(cache),
        CLF__GRIDS("cache_place", clf__groups((size_t)x.rows)),
        CLF__ARGUMENTS(arguments),
        .cost = moved(x.rows, cache),
    };
    return clf__launch(device, &launch);
}

clf_status clf__cache_widen(struct clf__tensor x, struct clf__tensor cache,
                            const struct clf__sequence_ranges *ranges)
{
    assert(cache.type == CLF__F16 && x.columns == cache.columns && x.rows >= cache.rows);
    size_t rows = (size_t)ranges->sequences * (size_t)ranges->max_keys;
    if (rows == 0 || x.columns == 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(x.buffer);
    const struct clf__argument arguments[] = {
        CLF__OPERAND(x),
        CLF__OPERAND(cache),
        CLF__VECTOR(ranges->table),
        CLF__INT(ranges->sequences),
        CLF__INT(ranges->max_keys),
        CLF__INT(x.columns),
    };
    const struct clf__launch launch = {
        .program = "cache",
        .defines = clf__cache_define(cache),
        CLF__GRIDS("cache_widen", clf__groups(rows)),
        CLF__ARGUMENTS(arguments),
        .cost = moved(ranges->keys > 0.0 ? ranges->keys : (double)rows, cache),
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
        .cost = clf__rows_cost(cache_rows.columns, next.columns, 0, 2), /* upper bound */
    };
    return clf__launch(device, &launch);
}
