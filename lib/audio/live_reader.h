/* Samples from a pipe or file while they are recorded: a WAV stream whose length is unknown, or samples
 * without a header. */
#ifndef CLF_AUDIO_LIVE_READER_H
#define CLF_AUDIO_LIVE_READER_H

#include <stddef.h>

#include "base/status.h"

struct clf__live_reader;

/* Opens a file or pipe; "-" is standard input. Opening a named pipe waits for its writer. raw_rate > 0:
 * 16-bit little-endian mono samples at this rate. `interrupted` is polled while the reader waits; it may be
 * NULL. */
clf_status clf__live_reader_open(struct clf__live_reader **out, const char *path, int raw_rate,
                                 int (*interrupted)(void *payload), void *payload);
void clf__live_reader_free(struct clf__live_reader *reader);

/* Reads mono samples at CLF_AUDIO_RATE, at most `room`. Waits for at least one sample. *count receives 0 at
 * the end of the stream. Returns CLF_FORMAT for a stream that is not WAV; CLF_INTERRUPTED. */
clf_status clf__live_reader_read(float *samples, size_t *count, struct clf__live_reader *reader, size_t room);

/* Stores the bytes that have arrived, up to 32 MB, without waiting, so that the writer can continue. */
void clf__live_reader_store(struct clf__live_reader *reader);

/* Returns about how many samples at CLF_AUDIO_RATE have arrived and not been read; 0 for a file. */
size_t clf__live_reader_waiting(struct clf__live_reader *reader);

#endif
