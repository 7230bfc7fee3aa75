/* The recording of an utterance: a temporary WAV file of the chunks of a Wyoming client. */
#ifndef CLF_TOOLS_SERVE_WYOMING_AUDIO_H
#define CLF_TOOLS_SERVE_WYOMING_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Zeroed except for `file`, which is -1. */
struct wyoming_audio {
    int file;
    int rate, width, channels; /* 0: there is no chunk yet */
    uint64_t size;             /* bytes of samples */
};

/* Takes the format of a chunk. Returns 0 if a field is missing or out of range, or if the format is not that
 * of the chunks before. */
int wyoming_audio_format(struct wyoming_audio *audio, const json_t *data);
/* Adds samples after wyoming_audio_format(); returns 0 after printing the reason. */
int wyoming_audio_add(struct wyoming_audio *audio, const char *bytes, size_t size);
/* Completes the file; returns 0 after printing the reason. An incomplete frame at the end is dropped.
 *
 * @param frames receives the number of samples per channel. */
int wyoming_audio_end(uint64_t *frames, struct wyoming_audio *audio);
void wyoming_audio_close(struct wyoming_audio *audio);

#endif
