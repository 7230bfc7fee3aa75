/* Detects speech in a recording: built-in, or with Silero's network. */
#ifndef CLF_AUDIO_VAD_DETECTOR_H
#define CLF_AUDIO_VAD_DETECTOR_H

#include "audio/vad/speech.h"

struct clf__detector;
struct clf__silero;

enum {
    CLF__DETECTOR_BEFORE = 15 * 31, /* chunks on either side whose loudness affects a probability: 15 s */
    CLF__DETECTOR_AFTER = 9,        /* following chunks whose voice affects a probability */
};

/* network: borrowed; NULL: the built-in detector. */
clf_status clf__detector_create(struct clf__detector **out, const struct clf__silero *network);
void clf__detector_free(struct clf__detector *detector);

/* Adds the next CLF__VAD_CHUNK samples. */
clf_status clf__detector_add(struct clf__detector *detector, const float *samples);

/* Forgets the first `count` chunks. */
void clf__detector_forget(struct clf__detector *detector, int count);

/* Computes the probability of speech in each chunk that was added and not forgotten. */
clf_status clf__detector_probe(float *probabilities, const struct clf__detector *detector);

/* Like clf__detector_probe(), in a new array; the caller frees *out. */
clf_status clf__detector_finish(float **out, const struct clf__detector *detector);

#endif
