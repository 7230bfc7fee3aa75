/* Checks gradients against central differences of the forward op on the device. */
#ifndef CLF_TESTS_FINITE_DIFFERENCE_H
#define CLF_TESTS_FINITE_DIFFERENCE_H

#include "support/support.h"

/* A function of tensors on a device: forward() computes y from the inputs. The differentiated value is the
 * sum of dy * y in double precision, where dy has the size of y. */
struct support_function {
    void (*forward)(void *context);
    void *context;
    struct clf__tensor y;
    const float *dy;
};

/* Fails unless ||gradient - differences|| <= tolerance * ||gradient|| for x, one of the inputs. Each element
 * of x changes by up to 2 * step, where the function must be smooth; x is restored. With a step of 1/32 and
 * values near 1, the error of four-point differences is about 1e-5. */
void support_check_gradient(const struct support_function *function, struct clf__tensor x,
                            const float *gradient, double step, double tolerance);

#endif
