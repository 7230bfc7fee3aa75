#include "reference/average.h"

#include <math.h>

void reference_average(double *m, const float *x, int t, int columns)
{
    for (int k = 0; k < columns; k++) {
        m[k] = (t * m[k] + (double)x[k]) / (t + 1.0);
    }
}

void reference_average_gate(double *y, const float *x, const float *h, const float *gates,
                            const float *residual, int columns)
{
    for (int k = 0; k < columns; k++) {
        double own = 1.0 / (1.0 + exp(-(double)gates[k]));
        double mean = 1.0 / (1.0 + exp(-(double)gates[columns + k]));
        y[k] = own * (double)x[k] + mean * (double)h[k] + (double)residual[k];
    }
}
