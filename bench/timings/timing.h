/* How long a piece of work takes: the median of some repeats after one call that warms up. */
#ifndef CLF_BENCH_TIMINGS_TIMING_H
#define CLF_BENCH_TIMINGS_TIMING_H

#include <clformer/status.h>

struct timing {
    double seconds; /* the median */
    double spread;  /* (largest - smallest) / median */
    double best;    /* the smallest */
    int repeats;
};

/* Does the whole work once, with everything enqueued finished. */
typedef clf_status timed_work(void *context);

/* Asked between repeats; non-zero ends the timing with CLF_INTERRUPTED. */
typedef int timing_interrupted(void *user);

enum { TIMING_MOST_REPEATS = 1000 };

/* From the seconds of `count` repeats (1 .. TIMING_MOST_REPEATS), which are sorted. */
void timing_conclude(struct timing *out, double *seconds, int count);

/* Calls work once, then `repeats` times (1 .. TIMING_MOST_REPEATS) with a clock. A failing call ends
 * it, and so does `interrupted`, which gets NULL. */
clf_status timing_measure(struct timing *out, timed_work *work, void *context, int repeats,
                          timing_interrupted *interrupted);

#endif
