/* A monotonic clock for measurements. */
#ifndef CLF_BASE_CLOCK_H
#define CLF_BASE_CLOCK_H

/* Returns the seconds since an arbitrary starting point; never decreases. */
double clf__seconds(void);

#endif
