#include "timing.h"

#include <stdlib.h>

#include "command.h"
#include "progress.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void conclude(struct timing *out, double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    *out = (struct timing){
        .seconds = median,
        .spread = median > 0 ? (seconds[count - 1] - seconds[0]) / median : 0,
        .repeats = count,
    };
}

static clf_status measure(struct timing *out, timed_work *work, void *context, int least, int most,
                          double budget)
{
    double seconds[TIMING_MOST_REPEATS], begin = 0;
    clf_status status = work(context);
    int count = 0;
    for (begin = seconds_now(); status == CLF_OK && count < most && !signals_interrupted(NULL); count++) {
        double start = seconds_now();
        if (count >= least && start - begin >= budget) {
            break;
        }
        status = work(context);
        seconds[count] = seconds_now() - start;
    }
    if (status == CLF_OK && signals_interrupted(NULL)) {
        status = CLF_INTERRUPTED;
    }
    if (status == CLF_OK) {
        conclude(out, seconds, count);
    }
    return status;
}

clf_status timing_measure(struct timing *out, timed_work *work, void *context, int repeats)
{
    return measure(out, work, context, repeats, repeats, 0);
}

clf_status timing_measure_for(struct timing *out, timed_work *work, void *context, int least, double seconds)
{
    return measure(out, work, context, least, TIMING_MOST_REPEATS, seconds);
}
