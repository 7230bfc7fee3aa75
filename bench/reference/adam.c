#include "reference/adam.h"

#include <math.h>

void reference_adam(double *w, double *m, double *v, const float *dw, size_t n, const struct clf__adam *adam)
{
    for (size_t i = 0; i < n; i++) {
        double g = adam->gradient_scale * (double)dw[i] + adam->coupled_decay * w[i];
        w[i] -= adam->rate * adam->decay * w[i];
        m[i] = adam->beta1 * m[i] + (1.0 - adam->beta1) * g;
        v[i] = adam->beta2 * v[i] + (1.0 - adam->beta2) * g * g;
        w[i] -= adam->rate * (m[i] / adam->correction1) / (sqrt(v[i] / adam->correction2) + adam->epsilon);
    }
}
