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

/* Returns the divisor d of y = c / d * gamma + beta, c = x - mean; its derivative with respect to c[i] is
 * slope * c[i]. */
static double divisor_of(double *slope, double squares, int columns, enum clf__norm_kind kind, double eps)
{
    if (kind == CLF__NORM_STD) {
        int degrees = columns > 1 ? columns - 1 : 1;
        double std = sqrt(squares / degrees);
        *slope = std > 0 ? 1 / (degrees * std) : 0;
        return std + eps;
    }
    double divisor = sqrt(squares / columns + eps);
    *slope = 1 / (columns * divisor);
    return divisor;
}

void reference_layernorm_backward(double *dx, double *dgamma, double *dbeta, const float *dy, const float *x,
                                  const float *gamma, int rows, int columns, enum clf__norm_kind kind,
                                  double eps)
{
    for (int n = 0; n < rows; n++, dx += columns, dy += columns, x += columns) {
        double mean = 0, squares = 0, ddivisor = 0, dmean = 0, slope;
        for (int i = 0; kind != CLF__NORM_RMS && i < columns; i++) {
            mean += (double)x[i] / columns;
        }
        for (int i = 0; i < columns; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        double divisor = divisor_of(&slope, squares, columns, kind, eps);
        for (int i = 0; i < columns; i++) {
            double centred = (double)x[i] - mean;
            ddivisor -= (double)dy[i] * (double)gamma[i] * centred / (divisor * divisor);
            dgamma[i] += (double)dy[i] * centred / divisor;
            if (dbeta) {
                dbeta[i] += (double)dy[i];
            }
        }
        for (int i = 0; i < columns; i++) {
            dx[i] = (double)dy[i] * (double)gamma[i] / divisor + ddivisor * slope * ((double)x[i] - mean);
            dmean -= dx[i];
        }
        for (int i = 0; kind != CLF__NORM_RMS && i < columns; i++) {
            dx[i] += dmean / columns;
        }
    }
}
