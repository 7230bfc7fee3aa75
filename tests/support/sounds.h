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

/* Adds a note of decaying harmonics to `length` samples. vibrato: seconds by which the phase moves. */
static inline void sounds_add_note(float *samples, int length, int semitone, int harmonics, double attack,
                                   double vibrato)
{
    double pitch = 6.283185307 * 130.8 * pow(2, semitone / 12.0);
    for (int i = 0; i < length; i++) {
        double t = (double)i / SOUNDS_RATE, left = (double)(length - i) / SOUNDS_RATE, sum = 0;
        double phase = pitch * (t + vibrato * sin(34.56 * t));
        for (int h = 1; h <= harmonics; h++) {
            sum += sin(h * phase + h) / h;
        }
        samples[i] += (float)(0.08 * sum * fmin(1, t / attack) * exp(-0.6 * t) * fmin(1, left / 0.05));
    }
}

/* Adds chords with envelopes, one per second. kind 0: an organ; 1: a piano with a melody; 2: strings with
 * vibrato; 3: a band with drums. */
static inline void sounds_add_chords(float *samples, int count, int kind, uint64_t seed)
{
    static const int chords[6][3] = {{0, 4, 7}, {9, 12, 16}, {5, 9, 12}, {7, 11, 14}, {2, 5, 9}, {4, 7, 11}};
    static const int harmonics[] = {9, 6, 8, 7};
    static const double attacks[] = {0.02, 0.005, 0.15, 0.01};
    struct support_random random = {seed};
    for (int at = 0; at < count; at += SOUNDS_RATE) {
        int length = count - at < SOUNDS_RATE ? count - at : SOUNDS_RATE;
        const int *chord = chords[support_integer(&random, 6)];
        for (int k = 0; k < 3; k++) {
            sounds_add_note(samples + at, length, chord[k], harmonics[kind], attacks[kind],
                            kind == 2 ? 0.0006 : 0);
        }
        for (int k = 0; k < length && kind % 2 == 1; k += SOUNDS_RATE / 4) {
            int rest = length - k < SOUNDS_RATE / 4 ? length - k : SOUNDS_RATE / 4;
            sounds_add_note(samples + at + k, rest, 12 + chord[support_integer(&random, 3)], 5, 0.005, 0);
        }
        for (int i = 0; i < length && kind == 3; i++) {
            double t = (double)(i % (SOUNDS_RATE / 2)) / SOUNDS_RATE;
            samples[at + i] += 0.3F * support_uniform(&random) * (float)exp(-50 * t);
        }
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
