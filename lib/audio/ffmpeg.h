/* Decodes recordings that libsndfile does not support, such as M4A, MP4, WebM, WMA and AAC, with FFmpeg's
 * libraries. */
#ifndef CLF_AUDIO_FFMPEG_H
#define CLF_AUDIO_FFMPEG_H

#include <stddef.h>
#include <stdint.h>

#include "audio/byte_range.h"
#include "base/status.h"

struct clf__ffmpeg;

/* Opens the best audio stream of a file. Does not own `bytes` or `name`. For other files, or without FFmpeg's
 * libraries, the message contains `reason` (libsndfile's error) and a conversion command for `input`. */
clf_status clf__ffmpeg_open(struct clf__ffmpeg **out, struct clf__byte_range *bytes, const char *name,
                            const char *input, const char *reason);
void clf__ffmpeg_free(struct clf__ffmpeg *ffmpeg);

/* Returns the sample rate. */
int clf__ffmpeg_rate(const struct clf__ffmpeg *ffmpeg);

/* Returns the number of samples per channel according to the file; 0: unknown. */
int64_t clf__ffmpeg_length(const struct clf__ffmpeg *ffmpeg);

/* Decodes the next frames: *frames is (count, channels), valid until the next call. *count is 0 at the end.
 * Packets that cannot be decoded are skipped. */
clf_status clf__ffmpeg_read(struct clf__ffmpeg *ffmpeg, const float **frames, size_t *count, int *channels);

/* Returns the end of the frames decoded so far in seconds, from the file's timestamps. */
double clf__ffmpeg_seconds(const struct clf__ffmpeg *ffmpeg);

/* Returns FFmpeg's message about the first damage so far, and its time in *seconds; NULL: no damage. */
const char *clf__ffmpeg_damage(const struct clf__ffmpeg *ffmpeg, double *seconds);

#endif
