/* What lower_case_tables.c holds, which a maker writes. */
#ifndef CLF_TRAIN_LOWER_CASE_TABLES_H
#define CLF_TRAIN_LOWER_CASE_TABLES_H

#include <stdint.h>

/* first, first + step, ... last have a lower case at the distance `delta`. */
struct clf__lower_range {
    int32_t first, last, step, delta;
};
extern const struct clf__lower_range clf__lower_ranges[];
extern const int clf__lower_ranges_count;

struct clf__point_range {
    int32_t first, last;
};
extern const struct clf__point_range clf__cased_ranges[], clf__case_ignorable_ranges[];
extern const int clf__cased_ranges_count, clf__case_ignorable_ranges_count;

#endif
