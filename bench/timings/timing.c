#include "timings/timing.h"

#include <stdlib.h>

#include "base/clock.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void timing_conclude(struct timing *out, double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    *out = (struct timing){
        .seconds = median,
        .spread = median > 0 ? (seconds[count - 1] - seconds[0]) / median : 0,
        .best = seconds[0],
        .repeats = count,
    };
}

clf_status timing_measure(struct timing *out, timed_work *work, void *context, int repeats,
                          timing_interrupted *interrupted)
{
    double seconds[TIMING_MOST_REPEATS];
    clf_status status = work(context);
    for (int i = 0; i < repeats && status == CLF_OK; i++) {
        if (interrupted(NULL)) {
            return CLF_INTERRUPTED;
        }
        double start = clf__seconds();
        status = work(context);
        seconds[i] = clf__seconds() - start;
    }
    if (status == CLF_OK) {
        timing_conclude(out, seconds, repeats);
    }
    return status;
}
