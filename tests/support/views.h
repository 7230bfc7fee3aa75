/* Views that do not fill their buffer, so that a kernel that ignores offset or stride fails. */
#ifndef CLF_TESTS_SUPPORT_VIEWS_H
#define CLF_TESTS_SUPPORT_VIEWS_H

#include "support/support.h"

/* A view of a larger tensor, from row 1 and column 3 to the third column from the end. The elements outside
 * the view are poison. */
struct support_view {
    struct clf__tensor tensor;
    struct clf__tensor whole;
};

/* Creates a view with rows * columns values, or with NaN if `values` is NULL. */
struct support_view support_view(struct clf_device *device, int rows, int columns, const float *values);

/* Fails unless the poison around the view is intact. */
void support_view_check(const struct support_view *view);

#endif
