/* Gradients against central differences of the forward op on the device. */
#ifndef CLF_TESTS_FINITE_DIFFERENCE_H
#define CLF_TESTS_FINITE_DIFFERENCE_H

#include "support/support.h"

/* A function of tensors on the device. forward() computes y (and asserts that it could) from what the inputs
 * hold when it is called; with dy, of y's size, the number that is differentiated is the sum of dy * y, taken
 * in double. */
struct support_function {
    void (*forward)(void *context);
    void *context;
    struct clf__tensor y;
    const float *dy;
};

/* Fails unless `gradient`, of x's size, is the gradient with respect to x, one of the inputs: ||difference||
 * <= tolerance *
 * ||gradient||. Every element of x is moved by up to 2 * step, so the function must be smooth there; x holds
 * what it held afterwards. Four-point differences: with a step of 1/32 and values near 1, their own error is
 * about 1e-5. */
void support_check_gradient(const struct support_function *function, struct clf__tensor x,
                            const float *gradient, double step, double tolerance);

#endif
