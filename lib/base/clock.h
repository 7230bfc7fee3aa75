/* Time, for measuring. */
#ifndef CLF_BASE_CLOCK_H
#define CLF_BASE_CLOCK_H

/* Seconds since some moment in the past; never goes back. */
double clf__seconds(void);

#endif
