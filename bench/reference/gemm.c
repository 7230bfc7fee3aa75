#include "reference/gemm.h"

#include <math.h>

double reference_activation(enum clf__activation kind, double v)
{
    switch (kind) {
    case CLF__IDENTITY:
        return v;
    case CLF__RELU:
        return v > 0 ? v : 0;
    case CLF__GELU_ERF:
        return 0.5 * v * (1 + erf(v / sqrt(2)));
    case CLF__GELU_TANH:
        return 0.5 * v * (1 + tanh(sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v)));
    case CLF__SILU:
        return v / (1 + exp(-v));
    }
    return NAN;
}

float reference_round(enum clf__precision precision, float value)
{
    if (precision == CLF__PRECISION_FP32 || value == 0 || !isfinite(value)) {
        return value;
    }
    int is_half = precision == CLF__PRECISION_FP16;
    int least = is_half ? -24 : -133; /* the smallest step is 2^least */
    int step = ilogb((double)value) - (is_half ? 10 : 7);
    double rounded =
        ldexp(nearbyint(ldexp((double)value, step < least ? -least : -step)), step < least ? least : step);
    double too_large = is_half ? 65536.0 : ldexp(1.0, 128);
    return fabs(rounded) >= too_large ? (float)copysign(INFINITY, rounded) : (float)rounded;
}

double reference_dot(const float *a, size_t a_step, const float *b, size_t b_step, int k, double alpha)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)k; i++) {
        sum += (double)a[i * a_step] * (double)b[i * b_step];
    }
    return alpha * sum;
}

void reference_gemm_row(double *y, const float *x, const float *w, int outputs, int inputs, double scale,
                        const float *bias, enum clf__activation kind, const float *residual)
{
    for (int n = 0; n < outputs; n++) {
        double v = reference_dot(x, 1, w + (size_t)n * (size_t)inputs, 1, inputs, scale);
        v = reference_activation(kind, v + (bias ? (double)bias[n] : 0));
        y[n] = v + (residual ? (double)residual[n] : 0);
    }
}

void reference_input_gradient(double *dx, const float *dy, const float *w, int rows, int outputs, int inputs,
                              double scale, const float *residual)
{
    size_t stride = (size_t)inputs;
    for (size_t i = 0; i < (size_t)rows * stride; i++) {
        size_t row = i / stride, column = i % stride;
        dx[i] = reference_dot(dy + row * (size_t)outputs, 1, w + column, stride, outputs, scale) +
                (residual ? (double)residual[i] : 0);
    }
}

void reference_weight_gradient(double *dw, const float *dy, const float *x, int rows, int outputs, int inputs)
{
    size_t stride = (size_t)inputs;
    for (size_t i = 0; i < (size_t)outputs * stride; i++) {
        dw[i] += reference_dot(dy + i / stride, (size_t)outputs, x + i % stride, stride, rows, 1);
    }
}
