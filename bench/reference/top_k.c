#include "reference/top_k.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
    float value;
    int32_t id;
};

static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return a->value != b->value ? (a->value < b->value ? 1 : -1) : (a->id > b->id) - (a->id < b->id);
}

static void measure(double statistics[2], const float *logits, int vocabulary)
{
    double largest = -INFINITY, sum = 0;
    for (int id = 0; id < vocabulary; id++) {
        largest = fmax(largest, (double)logits[id]);
    }
    double base = largest == -INFINITY ? 0 : largest;
    for (int id = 0; id < vocabulary; id++) {
        sum += exp((double)logits[id] - base);
    }
    statistics[0] = largest;
    statistics[1] = log(sum);
}

void reference_top_k(float *values, int32_t *ids, int k, double *statistics, float *logits, int vocabulary,
                     const int32_t *banned, int banned_count, int both)
{
    measure(statistics, logits, vocabulary);
    for (int i = 0; i < banned_count; i++) {
        if (banned[i] >= 0 && banned[i] < vocabulary) {
            logits[banned[i]] = -INFINITY;
        }
    }
    measure(statistics + 2, logits, vocabulary);
    if (!both) {
        statistics[0] = statistics[2];
        statistics[1] = statistics[3];
    }
    struct candidate *all = calloc((size_t)vocabulary + 1, sizeof *all);
    int count = 0;
    for (int id = 0; all && id < vocabulary; id++) {
        if (logits[id] > -INFINITY) {
            all[count++] = (struct candidate){logits[id], id};
        }
    }
    if (count > 1) {
        qsort(all, (size_t)count, sizeof *all, compare);
    }
    for (int i = 0; i < k; i++) {
        values[i] = i < count ? all[i].value : -INFINITY;
        ids[i] = i < count ? all[i].id : -1;
    }
    free(all);
}
