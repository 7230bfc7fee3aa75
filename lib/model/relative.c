#include "model/relative.h"

#include <math.h>

int clf__relative_bucket(int distance, int buckets, int max_distance, int bidirectional)
{
    int base = 0;
    int back = -distance; /* how far the key lies behind the query */
    if (bidirectional) {
        buckets /= 2;
        base = distance > 0 ? buckets : 0;
        back = distance > 0 ? distance : -distance;
    } else if (back < 0) {
        back = 0;
    }
    int exact = buckets / 2;
    if (back < exact) {
        return base + back;
    }
    double share = log((double)back / exact) / log((double)max_distance / exact);
    int bucket = exact + (int)(share * (buckets - exact));
    return base + (bucket < buckets ? bucket : buckets - 1);
}

void clf__relative_table(float *table, const float *by_bucket, int heads, int buckets, int max_distance,
                         int bidirectional)
{
    int width = 2 * max_distance + 1;
    for (int i = 0; i < width; i++) {
        int bucket = clf__relative_bucket(i - max_distance, buckets, max_distance, bidirectional);
        for (int h = 0; h < heads; h++) {
            table[h * width + i] = by_bucket[bucket * heads + h];
        }
    }
}

void clf__relative_table_backward(float *dby_bucket, const float *dtable, int heads, int buckets,
                                  int max_distance, int bidirectional)
{
    int width = 2 * max_distance + 1;
    for (int i = 0; i < buckets * heads; i++) {
        dby_bucket[i] = 0.0f;
    }
    for (int i = 0; i < width; i++) {
        int bucket = clf__relative_bucket(i - max_distance, buckets, max_distance, bidirectional);
        for (int h = 0; h < heads; h++) {
            dby_bucket[bucket * heads + h] += dtable[h * width + i];
        }
    }
}
