/* Properties that distinguish voiced speech from other sounds: it is harmonic like music, but its harmonics
 * are never steady. */
#ifndef CLF_AUDIO_VAD_VOICED_H
#define CLF_AUDIO_VAD_VOICED_H

#include "audio/vad/speech.h"

enum {
    CLF__VOICED_FRAME = 2 * CLF__VAD_CHUNK, /* samples of a spectrum: a chunk and the previous chunk */
    CLF__VOICED_BINS = 192,                 /* bins of the fine structure, from 500 to 3500 Hz */
    CLF__VOICED_LAG = 2,                    /* chunks between the compared fine structures */
};

/* Properties of a chunk. STEADY: it has the same harmonics as CLF__VOICED_LAG chunks earlier. */
enum { CLF__VOICED_HARMONIC = 1, CLF__VOICED_STEADY = 2 };

/* The state between chunks; a zeroed state is the start of a recording, except for the tables. */
struct clf__voiced {
    double cosines[CLF__VOICED_FRAME], window[CLF__VOICED_FRAME]; /* set by clf__voiced_init() */
    float samples[CLF__VOICED_FRAME];
    double fine[CLF__VOICED_LAG + 1][CLF__VOICED_BINS]; /* fine structures of the last chunks */
    int next;                                           /* index of the next entry to replace */
};

/* Sets the tables; the other members are zero. */
void clf__voiced_init(struct clf__voiced *voiced);

/* Adds a chunk and returns its properties; *energy receives its energy from 200 to 4000 Hz in decibels. */
int clf__voiced_add(float *energy, struct clf__voiced *voiced, const float *samples);

#endif
