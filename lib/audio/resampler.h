/* Resamples mono samples to CLF_AUDIO_RATE with soxr. */
#ifndef CLF_AUDIO_RESAMPLER_H
#define CLF_AUDIO_RESAMPLER_H

#include <stddef.h>

#include "base/status.h"

struct clf__resampler;

/* Creates a resampler; *out is NULL if the rate is CLF_AUDIO_RATE. `name`: borrowed, for messages. Returns
 * CLF_UNSUPPORTED in a build without soxr. */
clf_status clf__resampler_create(struct clf__resampler **out, int rate, const char *name);
void clf__resampler_free(struct clf__resampler *resampler);

/* Converts `have` samples of `from`, of which it uses *used, to at most `room` samples. have 0: the stream
 * has ended, and the remaining samples follow. resampler NULL: copies the samples. */
clf_status clf__resampler_run(struct clf__resampler *resampler, const float *from, size_t have, size_t *used,
                              float *to, size_t room, size_t *count);

#endif
