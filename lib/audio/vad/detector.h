/* Detects speech in a recording: built-in, or with Silero's network. */
#ifndef CLF_AUDIO_VAD_DETECTOR_H
#define CLF_AUDIO_VAD_DETECTOR_H

#include "audio/vad/speech.h"

struct clf__detector;
struct clf__silero;

/* network: borrowed; NULL: the built-in detector. */
clf_status clf__detector_create(struct clf__detector **out, const struct clf__silero *network);
void clf__detector_free(struct clf__detector *detector);

/* Adds the next CLF__VAD_CHUNK samples. */
clf_status clf__detector_add(struct clf__detector *detector, const float *samples);

/* Returns the probability of speech in each chunk; the caller frees *out. */
clf_status clf__detector_finish(float **out, struct clf__detector *detector);

#endif
