#include "reference/ssru.h"

#include <math.h>

void reference_ssru(double *y, double *c, const float *projected, const float *residual, int columns)
{
    for (int k = 0; k < columns; k++) {
        double f = 1.0 / (1.0 + exp(-(double)projected[k]));
        c[k] = f * c[k] + (1.0 - f) * (double)projected[columns + k];
        y[k] = fmax(c[k], 0.0) + (double)residual[k];
    }
}
