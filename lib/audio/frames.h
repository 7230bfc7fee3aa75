/* Input frames of speech models: read from files, or computed from recordings on the device as log-mel
 * frames, like Whisper's. */
#ifndef CLF_AUDIO_FRAMES_H
#define CLF_AUDIO_FRAMES_H

#include <stdint.h>

#include "base/status.h"

struct clf_device;

/* The layout of a model input row: `stack` adjacent log-mel frames of `bands` bands; the next row starts
 * `step` frames later (low frame rate: Sak et al. 2015, "Fast and accurate recurrent neural network acoustic
 * models for speech recognition", section 3). The last frame is repeated after the end of a recording. */
struct clf__frame_layout {
    int bands, stack, step;
};

struct clf__config;
struct clf__frame_layout clf__frame_layout_of(const struct clf__config *config);

/* Sets *out to 1 for a .npy file, recognised by its name or first bytes, and to 0 for a recording. */
clf_status clf__frames_are_stored(int *out, const char *path);

/* Samples of a recording at CLF_AUDIO_RATE; empty if zeroed. */
struct clf__recording {
    float *samples; /* (count) */
    int count;
    int64_t
        rows; /* rows of the whole recording, according to the file's header if it was not read to the end */
};

/* Reads a recording to the end, or until it exceeds most_rows. */
clf_status clf__recording_read(struct clf__recording *out, const struct clf__frame_layout *layout,
                               const char *path, int most_rows);
void clf__recording_free(struct clf__recording *recording);

/* Computes the rows of many recordings in batches; the results do not depend on the batch. The first
 * recording allocates device memory, for one minute of audio or the longest recording. */
struct clf__frame_maker;
clf_status clf__frame_maker_create(struct clf__frame_maker **out, struct clf_device *device,
                                   struct clf__frame_layout layout);
void clf__frame_maker_free(struct clf__frame_maker *maker);

/* Adds the first rows of a recording. `samples` holds at least the samples needed for these rows; missing
 * samples are silence. `target` (rows, stack * bands) is valid after clf__frame_maker_finish() and must stay
 * allocated until then. Returns CLF_UNSUPPORTED for an unsupported number of bands. */
clf_status clf__frame_maker_add(struct clf__frame_maker *maker, float *target, int rows, const float *samples,
                                int count);
clf_status clf__frame_maker_finish(struct clf__frame_maker *maker);

/* Reads the frames of a file, all rows or the first `most`. The caller frees *values (*rows, stack * bands).
 * *whole receives the total number of rows. */
clf_status clf__frames_read(float **values, int *rows, int *whole, struct clf__frame_maker *maker,
                            const char *path, int most);

#endif
