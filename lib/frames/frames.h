/* Sources of speech models: files of frames as they are, and recordings, of which the device makes log-mel
 * frames as Whisper takes them. */
#ifndef CLF_FRAMES_FRAMES_H
#define CLF_FRAMES_FRAMES_H

#include <stdint.h>

#include "base/status.h"

struct clf_device;

/* What a row of a source is made of: `stack` log-mel frames of `bands` side by side, where those of the next
 * row begin `step` frames later (low frame rate: Sak et al. 2015, "Fast and accurate recurrent neural network
 * acoustic models for speech recognition", section 3). Behind the end of a recording its last frame stands
 * again. */
struct clf__frame_layout {
    int bands, stack, step;
};

struct clf__config;
struct clf__frame_layout clf__frame_layout_of(const struct clf__config *config);

/* Whether a path is of a .npy file, by its name or its first bytes; anything else is a recording. */
clf_status clf__frames_are_stored(int *out, const char *path);

/* The samples of a recording, CLF_AUDIO_RATE a second; one that is zeroed is empty. */
struct clf__recording {
    float *samples; /* (count) */
    int count;
    int64_t rows; /* of the whole recording, as far as its file says where it was not read to its end */
};

/* Reads a recording to its end, or no further than the sample at which it has more than most_rows. */
clf_status clf__recording_read(struct clf__recording *out, const struct clf__frame_layout *layout,
                               const char *path, int most_rows);
void clf__recording_free(struct clf__recording *recording);

/* Makes the rows of many recordings, several in one go: what these are changes no bit. It takes no memory
 * of the device before the first one, and then room for a minute, or for the longest recording. */
struct clf__frame_maker;
clf_status clf__frame_maker_create(struct clf__frame_maker **out, struct clf_device *device,
                                   struct clf__frame_layout layout);
void clf__frame_maker_free(struct clf__frame_maker *maker);

/* The first rows of a recording. `samples` are all of its samples, or enough of them for these rows; what
 * follows counts as silence. `target` (rows, stack * bands) holds them after clf__frame_maker_finish(), and
 * must stay until then. CLF_UNSUPPORTED where there are no log-mel frames of so many bands. */
clf_status clf__frame_maker_add(struct clf__frame_maker *maker, float *target, int rows, const float *samples,
                                int count);
clf_status clf__frame_maker_finish(struct clf__frame_maker *maker);

/* One source of frames, whole or the first `most` rows: the caller frees *values (*rows, stack * bands).
 * *whole: how many rows there are. */
clf_status clf__frames_read(float **values, int *rows, int *whole, struct clf__frame_maker *maker,
                            const char *path, int most);

#endif
