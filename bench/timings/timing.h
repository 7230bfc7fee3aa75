/* Times work: the median of repetitions after one warm-up call. */
#ifndef CLF_BENCH_TIMINGS_TIMING_H
#define CLF_BENCH_TIMINGS_TIMING_H

#include <clformer/status.h>

struct timing {
    double seconds; /* the median */
    double spread;  /* (largest - smallest) / median */
    double best;    /* the smallest */
    int repeats;
};

/* Runs the work once and waits until everything that it enqueued has finished. */
typedef clf_status timed_work(void *context);

/* Polled between repetitions; non-zero ends the timing with CLF_INTERRUPTED. */
typedef int timing_interrupted(void *user);

enum { TIMING_MOST_REPEATS = 1000 };

/* Computes the result from the seconds of `count` repetitions (1 .. TIMING_MOST_REPEATS), which it sorts. */
void timing_conclude(struct timing *out, double *seconds, int count);

/* Calls work once for warm-up, then `repeats` times (1 .. TIMING_MOST_REPEATS), and measures these calls.
 * Ends if a call fails, or if `interrupted`, which is called with NULL, returns non-zero. */
clf_status timing_measure(struct timing *out, timed_work *work, void *context, int repeats,
                          timing_interrupted *interrupted);

#endif
