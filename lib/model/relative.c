#include "model/relative.h"

#include <math.h>
#include <stddef.h>

/* Returns the bucket of a column, which stands for `distance` = key position - query position. Half of the
 * buckets hold exact distances, and the others grow logarithmically up to max_distance. If bidirectional,
 * each sign has half of the buckets. */
static size_t bucket_of(const struct clf__relative *relative, size_t column)
{
    int distance = (int)column - relative->reach, buckets = relative->buckets, base = 0;
    int back = -distance; /* distance from the key to the query */
    if (relative->bidirectional) {
        buckets /= 2;
        base = distance > 0 ? buckets : 0;
        back = distance > 0 ? distance : -distance;
    } else if (back < 0) {
        back = 0;
    }
    int exact = buckets / 2;
    if (back < exact) {
        return (size_t)(base + back);
    }
    double share = log((double)back / exact) / log((double)relative->max_distance / exact);
    int bucket = exact + (int)(share * (buckets - exact));
    return (size_t)(base + (bucket < buckets ? bucket : buckets - 1));
}

void clf__relative_table(float *table, const float *by_bucket, const struct clf__relative *relative)
{
    size_t width = 2 * (size_t)relative->reach + 1, heads = (size_t)relative->heads;
    for (size_t i = 0; i < width; i++) {
        size_t bucket = bucket_of(relative, i);
        for (size_t h = 0; h < heads; h++) {
            table[h * width + i] = by_bucket[bucket * heads + h];
        }
    }
}

void clf__relative_table_backward(float *dby_bucket, const float *dtable,
                                  const struct clf__relative *relative)
{
    size_t width = 2 * (size_t)relative->reach + 1, heads = (size_t)relative->heads;
    for (size_t i = 0; i < (size_t)relative->buckets * heads; i++) {
        dby_bucket[i] = 0.0f;
    }
    for (size_t i = 0; i < width; i++) {
        size_t bucket = bucket_of(relative, i);
        for (size_t h = 0; h < heads; h++) {
            dby_bucket[bucket * heads + h] += dtable[h * width + i];
        }
    }
}
