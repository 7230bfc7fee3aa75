#include "support/finite_difference.h"

#include <stdlib.h>

static double value_at(const struct support_function *function, struct clf__tensor x, const float *values)
{
    size_t count = (size_t)function->y.rows * (size_t)function->y.columns;
    float *y = malloc(count * sizeof *y);
    assert_non_null(y);
    assert_ok(clf__tensor_write(x, values));
    function->forward(function->context);
    assert_ok(clf__tensor_read(function->y, y));
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)function->dy[i] * (double)y[i];
    }
    free(y);
    return sum;
}

/* Returns (f(x + h) - f(x - h)) / 2h, with x + h and x - h rounded to fp32. */
static double slope(const struct support_function *function, struct clf__tensor x, float *values,
                    float *element, double h)
{
    float middle = *element;
    float above = (float)((double)middle + h), below = (float)((double)middle - h);
    *element = above;
    double difference = value_at(function, x, values);
    *element = below;
    difference -= value_at(function, x, values);
    *element = middle;
    return difference / ((double)above - (double)below);
}

void support_check_gradient(const struct support_function *function, struct clf__tensor x,
                            const float *gradient, double step, double tolerance)
{
    size_t count = (size_t)x.rows * (size_t)x.columns;
    float *values = support_read(x);
    double *expected = support_array(count, sizeof *expected);
    size_t stride = support_small() ? 7 : 1; /* in the short tier, only every seventh element is checked */
    for (size_t i = 0; i < count; i++) {
        expected[i] = (double)gradient[i];
        if (i % stride == 0) {
            double near = slope(function, x, values, values + i, step);
            double far = slope(function, x, values, values + i, 2 * step);
            expected[i] = (4 * near - far) / 3; /* the remaining error is of fourth order in the step */
        }
    }
    assert_ok(clf__tensor_write(x, values));
    assert_close(gradient, expected, count, tolerance);
}
