#include "reference/layernorm.h"

#include <math.h>

void reference_layernorm(double *y, const float *x, const float *gamma, const float *beta, int rows,
                         int columns, enum clf__norm_kind kind, double eps)
{
    for (int n = 0; n < rows; n++, y += columns, x += columns) {
        double mean = 0, squares = 0;
        for (int i = 0; kind != CLF__NORM_RMS && i < columns; i++) {
            mean += (double)x[i] / columns;
        }
        for (int i = 0; i < columns; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        double divisor = kind == CLF__NORM_STD ? sqrt(squares / (columns > 1 ? columns - 1 : 1)) + eps
                                               : sqrt(squares / columns + eps);
        for (int i = 0; i < columns; i++) {
            y[i] = ((double)x[i] - mean) / divisor * (double)gamma[i] + (beta ? (double)beta[i] : 0);
        }
    }
}
