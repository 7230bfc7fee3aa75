/* Recordings as samples: mono, 16,000 a second, between -1 and 1. */
#ifndef CLFORMER_AUDIO_H
#define CLFORMER_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CLF_AUDIO_RATE = 16000 }; /* samples a second of all that is read here */

/* A recording that is read from its beginning to its end, in bounded memory however long it is. */
struct clf_audio;

/**
 * Opens a recording: WAV, FLAC, OGG, MP3 and other formats of libsndfile. A library built with FFmpeg also
 * opens M4A, MP4, WebM, WMA, AAC and other formats of FFmpeg, and reads the audio stream that
 * av_find_best_stream() chooses. The rate may be from 1,000 to 1,000,000 samples a second; channels are mixed
 * in equal parts. A pipe is first copied to a temporary file, as it can be read once only.
 *
 * The first recording that libsndfile refuses sets FFmpeg's log callback (av_log_set_callback()) for the
 * process: errors and warnings of this library quote FFmpeg's messages, which are not printed.
 *
 * @param out  receives it; free it with clf_audio_free().
 * @param path of a file or a pipe; "-" is standard input.
 * @return CLF_FILE where it cannot be read, CLF_FORMAT where it is no recording or holds no sample,
 *         CLF_UNSUPPORTED where the library was built without libsndfile and soxr.
 */
clf_status clf_audio_open(struct clf_audio **out, const char *path);

/**
 * Opens samples without a header: 16 bits each, signed, little-endian, one channel.
 *
 * @param rate samples a second, 1,000 to 1,000,000.
 * @return as clf_audio_open(); CLF_BAD_ARGUMENT for another rate.
 */
clf_status clf_audio_open_raw(struct clf_audio **out, const char *path, int rate);

/**
 * A recording in memory.
 *
 * @param samples `count` of them, mono, CLF_AUDIO_RATE a second; the caller's, and they stay until the
 *                recording is freed.
 */
clf_status clf_audio_open_samples(struct clf_audio **out, const float *samples, size_t count);

/**
 * Reads on. Samples beyond -1 and 1 are cut to them.
 *
 * @param samples room for `wanted` of them.
 * @param count   receives how many were read; fewer than wanted only at the end.
 * @return CLF_FORMAT where the rest is damaged or cut off, or a sample is not a number. What FFmpeg cannot
 * decode is left out, with a warning (clf_log_set()) that names the first such place.
 */
clf_status clf_audio_read(struct clf_audio *audio, float *samples, size_t wanted, size_t *count);

/** Goes back to the beginning: the same samples follow. */
clf_status clf_audio_rewind(struct clf_audio *audio);

/** How many samples there are, as far as the file says; 0 where it does not say. */
int64_t clf_audio_length(const struct clf_audio *audio);

/** The path, for messages; "standard input" for "-", "samples" for those in memory. */
const char *clf_audio_name(const struct clf_audio *audio);

/** Frees a recording; NULL is ignored. */
void clf_audio_free(struct clf_audio *audio);

/** Whether the library was built with libsndfile and soxr, and can read recordings. */
int clf_audio_reads_files(void);

#ifdef __cplusplus
}
#endif
#endif
