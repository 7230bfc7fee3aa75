#include "reference/int8.h"

#include <math.h>

static float largest_of(const float *values, int count)
{
    float largest = 0;
    for (int k = 0; k < count; k++) {
        if (!isfinite(values[k])) {
            return NAN;
        }
        largest = fmaxf(largest, fabsf(values[k]));
    }
    return largest;
}

float reference_quantize_row(int16_t *q, const float *x, int count)
{
    float lo = 0, hi = 0;
    for (int k = 0; k < count; k++) {
        lo = fminf(lo, x[k]);
        hi = fmaxf(hi, x[k]);
    }
    float s = hi / 254.0f - lo / 254.0f;
    int is_usable = s > 1e-32f && isfinite(largest_of(x, count));
    float inverse = is_usable ? 1.0f / s : 0.0f;
    for (int k = 0; k < count; k++) {
        q[k] = is_usable ? (int16_t)nearbyint((double)x[k] * (double)inverse) : 0;
    }
    return isnan(largest_of(x, count)) ? NAN : is_usable ? s : 0.0f;
}

float reference_quantize_output(int8_t *q, const float *w, int count)
{
    float largest = largest_of(w, count);
    for (int k = 0; k < count; k++) {
        q[k] = largest > 0 ? (int8_t)nearbyint((double)(w[k] / largest * 127.0f)) : 0;
    }
    return largest / 127.0f;
}

float reference_int8_dot(const int16_t *a, float a_scale, const int8_t *b, float b_scale, int count)
{
    int64_t sum = 0;
    for (int k = 0; k < count; k++) {
        sum += (int64_t)a[k] * b[k];
    }
    return (float)sum * (a_scale * b_scale);
}
