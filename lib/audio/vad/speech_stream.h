/* Spans of speech in a stream of samples, found while it is recorded, in bounded memory. */
#ifndef CLF_AUDIO_VAD_SPEECH_STREAM_H
#define CLF_AUDIO_VAD_SPEECH_STREAM_H

#include <stddef.h>

#include "audio/vad/detector.h"

struct clf__speech_stream;

/* network: borrowed; NULL: the built-in detector. rules: copied; max_speech has no effect. */
clf_status clf__speech_stream_create(struct clf__speech_stream **out, const struct clf__silero *network,
                                     const struct clf__speech_rules *rules);
void clf__speech_stream_free(struct clf__speech_stream *stream);

/* Adds the next samples. */
clf_status clf__speech_stream_add(struct clf__speech_stream *stream, const float *samples, size_t count);

/* Ends the stream: clf__speech_stream_find() returns no open span any more. */
clf_status clf__speech_stream_end(struct clf__speech_stream *stream);

/* Finds the first speech from sample `from` on. *length receives 0 if there is none; is_open: it may continue
 * after the samples added so far. `from` must not be less than in earlier calls, and earlier samples are
 * forgotten except for their loudness. A span that was found has the same start in later calls with the same
 * `from`, once half a second has been added after it. */
clf_status clf__speech_stream_find(struct clf__span *out, int *is_open, struct clf__speech_stream *stream,
                                   int64_t from);

#endif
