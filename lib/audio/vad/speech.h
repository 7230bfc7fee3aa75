/* Spans of speech from the probabilities of speech in adjacent chunks of a recording, with the parameters and
 * the results of get_speech_timestamps() in faster-whisper and Silero VAD. */
#ifndef CLF_AUDIO_VAD_SPEECH_H
#define CLF_AUDIO_VAD_SPEECH_H

#include "audio/spans.h"

enum { CLF__VAD_CHUNK = 512 }; /* samples per probability */

struct clf__speech_rules {
    double threshold;     /* speech begins in a chunk with at least this probability */
    double neg_threshold; /* silence begins in a chunk with a lower probability */
    double min_speech, min_silence, speech_pad, max_speech; /* samples; max_speech may be INFINITY */
};

/* Adds the spans of speech, in samples. `probabilities`: (chunks); `samples`: length of the recording. */
clf_status clf__speech_find(struct clf__spans *out, const float *probabilities, int64_t chunks,
                            int64_t samples, const struct clf__speech_rules *rules);

#endif
