/* Generated sounds: speech-like syllables, noise, music and hum. */
#ifndef CLF_TESTS_SUPPORT_SOUNDS_H
#define CLF_TESTS_SUPPORT_SOUNDS_H

#include <math.h>

#include "support/support.h"

enum { SOUNDS_RATE = 16000 };

/* Adds syllables of a voice whose pitch and formants move: four per second, each with a noisy consonant. */
static inline void sounds_add_speech(float *samples, int count, uint64_t seed)
{
    enum { SYLLABLE = SOUNDS_RATE / 4, CONSONANT = SOUNDS_RATE / 20, HARMONICS = 24 };
    struct support_random random = {seed};
    double phase = 0, from = 120, to = 120, formant = 500, next = 500;
    for (int i = 0; i < count; i++) {
        int at = i % SYLLABLE;
        double share = (double)at / SYLLABLE;
        if (at == 0) {
            from = 110 + 60 * fabs((double)support_uniform(&random));
            to = from * (1.25 - 0.5 * (i / SYLLABLE % 2));
            formant = next;
            next = 400 + 500 * fabs((double)support_uniform(&random));
        }
        double pitch = from + (to - from) * share, first = formant + (next - formant) * share, voice = 0;
        phase += 6.283185307 * pitch / SOUNDS_RATE;
        for (int h = 1; h <= HARMONICS && h * pitch < 3800; h++) {
            double near = (h * pitch - first) / 150, far = (h * pitch - 2.6 * first) / 250;
            voice += sin(h * phase) * (0.05 / h + 0.4 * exp(-near * near) + 0.2 * exp(-far * far));
        }
        double loud = at < CONSONANT ? 0 : sin(3.14159265 * (at - CONSONANT) / (SYLLABLE - CONSONANT));
        double noise = at < CONSONANT ? 0.03 * (double)support_uniform(&random) : 0;
        samples[i] += (float)(0.25 * loud * voice + noise);
    }
}

/* Adds white noise. */
static inline void sounds_add_noise(float *samples, int count, float loudness)
{
    struct support_random random = {7};
    for (int i = 0; i < count; i++) {
        samples[i] += loudness * support_uniform(&random);
    }
}

/* Adds a melody with chords: decaying notes of six harmonics, four per second. */
static inline void sounds_add_music(float *samples, int count)
{
    enum { NOTE = SOUNDS_RATE / 4, HARMONICS = 6 };
    static const int steps[] = {0, 4, 7, 12, 9, 5, 2, 11};
    for (int i = 0; i < count; i++) {
        int note = i / NOTE;
        double t = (double)(i % NOTE) / SOUNDS_RATE, whole = (double)(i % (4 * NOTE)) / SOUNDS_RATE, sum = 0;
        double melody = 220 * pow(2, steps[(note * 5) % 8] / 12.0),
               chord = 110 * pow(2, steps[note / 4 % 4] / 12.0);
        for (int h = 1; h <= HARMONICS; h++) {
            sum += 0.1 / h * sin(6.283185307 * h * melody * t) * exp(-3 * t);
            sum += 0.06 / h * sin(6.283185307 * h * chord * whole) * exp(-whole);
        }
        samples[i] += (float)sum;
    }
}

/* Adds the hum of the mains. */
static inline void sounds_add_hum(float *samples, int count)
{
    for (int i = 0; i < count; i++) {
        double t = 6.283185307 * i / SOUNDS_RATE;
        samples[i] += (float)(0.1 * sin(50 * t) + 0.05 * sin(150 * t) + 0.02 * sin(250 * t));
    }
}

#endif
