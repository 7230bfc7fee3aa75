#include "reference/softmax.h"

#include <math.h>
#include <stddef.h>

static double exp_sum(const float *x, double largest, int columns)
{
    double sum = 0;
    for (int c = 0; c < columns; c++) {
        sum += exp((double)x[c] - largest);
    }
    return sum;
}

static double largest_of(const float *x, int columns)
{
    double largest = -INFINITY;
    for (int c = 0; c < columns; c++) {
        largest = fmax(largest, (double)x[c]);
    }
    return largest;
}

void reference_softmax(double *y, const float *x, int rows, int columns)
{
    for (int n = 0; n < rows; n++, y += columns, x += columns) {
        double largest = largest_of(x, columns), sum = exp_sum(x, largest, columns);
        for (int c = 0; c < columns; c++) {
            y[c] = isinf(largest) ? 0 : exp((double)x[c] - largest) / sum;
        }
    }
}

void reference_log_softmax(double *y, const float *x, int rows, int columns)
{
    for (int n = 0; n < rows; n++, y += columns, x += columns) {
        double largest = largest_of(x, columns), sum = exp_sum(x, largest, columns);
        for (int c = 0; c < columns; c++) {
            y[c] = isinf(largest) ? -INFINITY : (double)x[c] - largest - log(sum);
        }
    }
}
