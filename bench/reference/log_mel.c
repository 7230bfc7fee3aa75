#include "reference/log_mel.h"

#include <math.h>

enum { FRAME = 400, BINS = FRAME / 2 + 1 };

static double sample_at(const float *samples, long count, long at)
{
    at = at < 0 ? -at : at;
    at = at >= count ? 2 * (count - 1) - at : at;
    at = at < 0 ? 0 : at >= count ? count - 1 : at;
    return count > 0 ? (double)samples[at] : 0;
}

void reference_log_mel(double *y, const float *samples, int count, long middle, const double *filters,
                       int bands)
{
    const double turn = 2 * acos(-1.0) / FRAME;
    double power[BINS];
    for (int k = 0; k < BINS; k++) {
        double re = 0, im = 0;
        for (int j = 0; j < FRAME; j++) {
            double x = sample_at(samples, count, middle - FRAME / 2 + j) * (0.5 - 0.5 * cos(turn * j));
            re += x * cos(turn * (j * k % FRAME));
            im -= x * sin(turn * (j * k % FRAME));
        }
        power[k] = re * re + im * im;
    }
    for (int m = 0; m < bands; m++) {
        double sum = 0;
        for (int k = 0; k < BINS; k++) {
            sum += filters[m * BINS + k] * power[k];
        }
        y[m] = log10(sum < 1e-10 ? 1e-10 : sum);
    }
}
