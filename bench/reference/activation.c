#include "reference/activation.h"

#include <math.h>

double reference_activation_slope(enum clf__activation kind, double v)
{
    const double pi = acos(-1);
    switch (kind) {
    case CLF__IDENTITY:
        return 1;
    case CLF__RELU:
        return v > 0;
    case CLF__GELU_ERF:
        return 0.5 * erfc(-v / sqrt(2)) + v * exp(-0.5 * v * v) / sqrt(2 * pi);
    case CLF__GELU_TANH: {
        double tangent = tanh(sqrt(2 / pi) * (v + 0.044715 * v * v * v));
        return 0.5 * (1 + tangent) +
               0.5 * v * (1 - tangent * tangent) * sqrt(2 / pi) * (1 + 3 * 0.044715 * v * v);
    }
    case CLF__SILU: {
        double sigmoid = 1 / (1 + exp(-v));
        return sigmoid * (1 + v * (1 - sigmoid));
    }
    }
    return NAN;
}
