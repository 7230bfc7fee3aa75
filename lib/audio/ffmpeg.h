/* Recordings that libsndfile does not read, such as M4A, MP4, WebM, WMA and AAC, by FFmpeg's libraries. */
#ifndef CLF_AUDIO_FFMPEG_H
#define CLF_AUDIO_FFMPEG_H

#include <stddef.h>
#include <stdint.h>

#include "audio/byte_range.h"
#include "base/status.h"

struct clf__ffmpeg;

/* Opens the best audio stream of a file, from its beginning. `bytes` and `name`, which is for messages, are
 * borrowed until it is freed. `input` names the recording in a command line, `reason` is libsndfile's, for
 * the message about a file that is no recording. A build without FFmpeg's libraries fails, too; its message
 * has the command that converts the recording. */
clf_status clf__ffmpeg_open(struct clf__ffmpeg **out, struct clf__byte_range *bytes, const char *name,
                            const char *input, const char *reason);
void clf__ffmpeg_free(struct clf__ffmpeg *ffmpeg);

/* Samples a second. */
int clf__ffmpeg_rate(const struct clf__ffmpeg *ffmpeg);

/* Samples of each channel, as the file says; 0 where it does not say. */
int64_t clf__ffmpeg_length(const struct clf__ffmpeg *ffmpeg);

/* Decodes the next frames: *frames is (count, channels), valid until the next call. *count is 0 at the end.
 * Packets that cannot be decoded are left out. */
clf_status clf__ffmpeg_read(struct clf__ffmpeg *ffmpeg, const float **frames, size_t *count, int *channels);

/* The end of the frames decoded so far, in seconds, by the timestamps of the file. */
double clf__ffmpeg_seconds(const struct clf__ffmpeg *ffmpeg);

/* Returns FFmpeg's message about the first damage so far, and sets *seconds to the place; NULL if there is
 * none. */
const char *clf__ffmpeg_damage(const struct clf__ffmpeg *ffmpeg, double *seconds);

#endif
