#include "audio/vad/voiced.h"

#include <math.h>
#include <string.h>

enum {
    FRAME = CLF__VOICED_FRAME, /* bins are 15.6 Hz apart */
    HALF = FRAME / 2,
    BAND_FIRST = 13, /* energy and flatness: 200 to 4000 Hz */
    BAND_END = 256,
    PITCH_FIRST = 6, /* harmonicity: 94 to 2000 Hz */
    PITCH_END = 128,
    SHORTEST_PERIOD = 40, /* samples: 60 to 400 Hz */
    LONGEST_PERIOD = 266,
    FINE_FIRST = 32,
    SMOOTHED = 4, /* bins on either side */
};

static const double FLOOR = 1e-9; /* added to powers */
static const double MOST_FLATNESS = 0.35, LEAST_HARMONICITY = 0.25, STEADY = 0.45;
static const double PI = 3.14159265358979323846;

void clf__voiced_init(struct clf__voiced *voiced)
{
    memset(voiced, 0, sizeof *voiced);
    for (int i = 0; i < FRAME; i++) {
        voiced->cosines[i] = cos(2 * PI * i / FRAME);
        voiced->window[i] = 0.5 - 0.5 * voiced->cosines[i];
    }
}

/* Complex fast Fourier transform of FRAME values in place, radix 2. */
static void transform(double *real, double *imaginary, const double *cosines)
{
    for (int i = 1, k = 0; i < FRAME; i++) {
        int bit = HALF;
        for (; k & bit; bit >>= 1) {
            k ^= bit;
        }
        k |= bit;
        if (i < k) {
            double first = real[i], second = imaginary[i];
            real[i] = real[k];
            imaginary[i] = imaginary[k];
            real[k] = first;
            imaginary[k] = second;
        }
    }
    for (int size = 2; size <= FRAME; size *= 2) {
        int step = FRAME / size;
        for (int start = 0; start < FRAME; start += size) {
            for (int k = 0; k < size / 2; k++) {
                int a = start + k, b = a + size / 2;
                double c = cosines[k * step], s = -cosines[(k * step + 3 * FRAME / 4) % FRAME];
                double x = real[b] * c - imaginary[b] * s, y = real[b] * s + imaginary[b] * c;
                real[b] = real[a] - x;
                imaginary[b] = imaginary[a] - y;
                real[a] += x;
                imaginary[a] += y;
            }
        }
    }
}

/* Computes the power spectrum (HALF) of the windowed samples. */
static void find_powers(double *powers, const struct clf__voiced *voiced)
{
    double real[FRAME], imaginary[FRAME] = {0};
    for (int i = 0; i < FRAME; i++) {
        real[i] = (double)voiced->samples[i] * voiced->window[i];
    }
    transform(real, imaginary, voiced->cosines);
    for (int i = 0; i < HALF; i++) {
        powers[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
    }
}

/* Returns the highest autocorrelation at the period of a voice; the spectrum is compressed by a square root,
 * so that the strongest harmonic does not dominate. */
static double find_harmonicity(const double *powers, const double *cosines)
{
    double real[FRAME] = {0}, imaginary[FRAME] = {0}, best = 0;
    for (int i = PITCH_FIRST; i < PITCH_END; i++) {
        real[i] = real[FRAME - i] = sqrt(powers[i]);
    }
    transform(real, imaginary, cosines);
    for (int i = SHORTEST_PERIOD; i <= LONGEST_PERIOD; i++) {
        best = fmax(best, real[i]);
    }
    return best / (real[0] + FLOOR);
}

/* Computes the logarithmic spectrum less its envelope. */
static void find_fine(double *fine, const double *powers)
{
    double logs[CLF__VOICED_BINS];
    for (int i = 0; i < CLF__VOICED_BINS; i++) {
        logs[i] = log(powers[FINE_FIRST + i] + FLOOR);
    }
    for (int i = 0; i < CLF__VOICED_BINS; i++) {
        double sum = 0;
        for (int k = i - SMOOTHED; k <= i + SMOOTHED; k++) {
            sum += logs[k < 0 ? 0 : k < CLF__VOICED_BINS ? k : CLF__VOICED_BINS - 1];
        }
        fine[i] = logs[i] - sum / (2 * SMOOTHED + 1);
    }
}

static double correlate(const double *a, const double *b)
{
    double both = 0, first = 0, second = 0;
    for (int i = 0; i < CLF__VOICED_BINS; i++) {
        both += a[i] * b[i];
        first += a[i] * a[i];
        second += b[i] * b[i];
    }
    return both / sqrt(first * second + FLOOR);
}

int clf__voiced_add(float *energy, struct clf__voiced *voiced, const float *samples)
{
    double powers[HALF], sum = 0, logs = 0;
    enum { BINS = BAND_END - BAND_FIRST, DECIBELS = 10 };
    memmove(voiced->samples, voiced->samples + CLF__VAD_CHUNK, CLF__VAD_CHUNK * sizeof *voiced->samples);
    memcpy(voiced->samples + CLF__VAD_CHUNK, samples, CLF__VAD_CHUNK * sizeof *voiced->samples);
    find_powers(powers, voiced);
    for (int i = BAND_FIRST; i < BAND_END; i++) {
        sum += powers[i];
        logs += log(powers[i] + FLOOR);
    }
    double flatness = exp(logs / BINS) / (sum / BINS + FLOOR);
    double *fine = voiced->fine[voiced->next];
    find_fine(fine, powers);
    voiced->next = (voiced->next + 1) % (CLF__VOICED_LAG + 1);
    double stability = correlate(fine, voiced->fine[voiced->next]); /* fine[next] is the oldest */
    *energy = (float)(DECIBELS * log10(sum / FRAME + FLOOR));
    int is_harmonic =
        flatness < MOST_FLATNESS && find_harmonicity(powers, voiced->cosines) > LEAST_HARMONICITY;
    return (is_harmonic ? CLF__VOICED_HARMONIC : 0) | (stability >= STEADY ? CLF__VOICED_STEADY : 0);
}
