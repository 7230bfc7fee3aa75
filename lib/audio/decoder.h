/* Decodes audio files with libsndfile or FFmpeg, and soxr. */
#ifndef CLF_AUDIO_DECODER_H
#define CLF_AUDIO_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__decoder;

enum { CLF__LEAST_RATE = 1000, CLF__MOST_RATE = 1000000 }; /* limits of sample rates in Hz */

/* Opens a recording. `name` is used in messages and must outlive the decoder. raw_rate > 0: the file contains
 * 16-bit samples at this rate without a header. */
clf_status clf__decoder_open(struct clf__decoder **out, const char *path, const char *name, int raw_rate);
void clf__decoder_free(struct clf__decoder *decoder);
/* Reads mono samples at CLF_AUDIO_RATE; returns fewer than `wanted` only at the end. */
clf_status clf__decoder_read(struct clf__decoder *decoder, float *samples, size_t wanted, size_t *count);
clf_status clf__decoder_rewind(struct clf__decoder *decoder);
int64_t clf__decoder_length(const struct clf__decoder *decoder);
int clf__decoder_exists(void);

#endif
