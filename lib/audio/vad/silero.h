/* Silero's network for voice activity detection (https://github.com/snakers4/silero-vad, versions 5 and 6),
 * computed on the CPU: the magnitudes of a Fourier transform, four convolutions, an LSTM, and the probability
 * of speech. */
#ifndef CLF_AUDIO_VAD_SILERO_H
#define CLF_AUDIO_VAD_SILERO_H

#include "audio/vad/speech.h"

struct clf__silero;

enum { CLF__SILERO_CONTEXT = 64, CLF__SILERO_MOST_STATE = 512 };

/* The state between chunks; a zeroed state is the start of a recording. */
struct clf__silero_state {
    float context[CLF__SILERO_CONTEXT]; /* the last samples of the previous chunk */
    float hidden[CLF__SILERO_MOST_STATE], cell[CLF__SILERO_MOST_STATE];
};

/* Reads the network from a file, ONNX or safetensors. The errors name the file. */
clf_status clf__silero_open(struct clf__silero **out, const char *path);
void clf__silero_free(struct clf__silero *network);

/* Computes the probability of speech in the next CLF__VAD_CHUNK samples. Any number of threads may use a
 * network, each with its own state. */
clf_status clf__silero_run(float *probability, const struct clf__silero *network,
                           struct clf__silero_state *state, const float *samples);

#endif
