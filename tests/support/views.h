/* Views that do not fill their buffer, so that a kernel that ignores offset or stride fails. */
#ifndef CLF_TESTS_SUPPORT_VIEWS_H
#define CLF_TESTS_SUPPORT_VIEWS_H

#include "support/support.h"

/* A column view (one row and three columns in, two columns short of the row's end) surrounded by poison. */
struct support_view {
    struct clf__tensor tensor;
    struct clf__tensor whole;
};

/* values: rows * columns numbers, or NULL for NaN. */
struct support_view support_view(struct clf_device *device, int rows, int columns, const float *values);

/* Fails unless the poison around the view is intact. */
void support_view_check(const struct support_view *view);

#endif
