/* Audio input: recordings decoded to mono float samples at 16,000 Hz in the range -1 to 1. */
#ifndef CLFORMER_AUDIO_H
#define CLFORMER_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CLF_AUDIO_RATE = 16000 }; /* sample rate of all audio in this library, in Hz */

/* An open recording, read in bounded memory. One thread at a time may use it. */
struct clf_audio;

/**
 * Opens a recording in any format that libsndfile reads (WAV, FLAC, OGG, MP3, ...) or, if the library was
 * built with FFmpeg, that FFmpeg reads (M4A, MP4, WebM, WMA, AAC, ...; if there are several audio streams,
 * av_find_best_stream() selects one). Sample rates from 1,000 to 1,000,000 Hz and any number of channels are
 * supported. Channels are averaged. A pipe is copied to a temporary file first, because a pipe can be read
 * only once.
 *
 * Opening the first recording that libsndfile cannot read sets FFmpeg's log callback (av_log_set_callback())
 * for the whole process: FFmpeg's messages are no longer printed but quoted in this library's errors and
 * warnings.
 *
 * @param out receives the recording; free it with clf_audio_free().
 * @param path path of a file or pipe, UTF-8; "-" is standard input.
 * @return CLF_FILE if the file cannot be read, CLF_FORMAT if it is not a recording or contains no samples,
 *         CLF_UNSUPPORTED if the library was built without libsndfile and soxr.
 */
CLF_API clf_status clf_audio_open(struct clf_audio **out, const char *path);

/**
 * Opens a file of samples without a header: signed 16-bit little-endian, one channel.
 *
 * @param out receives the recording; free it with clf_audio_free().
 * @param path path of a file or pipe; "-" is standard input.
 * @param rate sample rate in Hz, 1,000 to 1,000,000.
 * @return the errors of clf_audio_open(); CLF_BAD_ARGUMENT if rate is out of range.
 */
CLF_API clf_status clf_audio_open_raw(struct clf_audio **out, const char *path, int rate);

/**
 * Opens samples in memory.
 *
 * @param out receives the recording; free it with clf_audio_free().
 * @param samples (count) mono samples at CLF_AUDIO_RATE; owned by the caller and valid until the recording is
 *     freed.
 * @param count number of samples.
 * @return CLF_BAD_ARGUMENT if samples is NULL; CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_audio_open_samples(struct clf_audio **out, const float *samples, size_t count);

/**
 * Reads the next samples. Values outside -1 to 1 are clipped.
 *
 * @param samples receives the samples; an array of at least `wanted` elements.
 * @param count receives the number of samples read; less than `wanted` only at the end.
 * @param audio the recording.
 * @param wanted number of samples to read.
 * @return CLF_FORMAT if the remaining data is damaged or truncated, or if a sample is NaN. Packets that
 *         FFmpeg cannot decode are skipped, and a warning (clf_log_set()) names the first of them.
 */
CLF_API clf_status clf_audio_read(float *samples, size_t *count, struct clf_audio *audio, size_t wanted);

/** Seeks to the beginning of the recording. Returns the errors of clf_audio_read(). */
CLF_API clf_status clf_audio_rewind(struct clf_audio *audio);

/** Returns the number of samples at CLF_AUDIO_RATE according to the file's header; 0 if the header does
 * not specify the length. */
CLF_API int64_t clf_audio_length(const struct clf_audio *audio);

/** Returns the name of the recording for use in messages: the path, "standard input" for "-", "samples" for
 * samples in memory. The string is owned by the recording. */
CLF_API const char *clf_audio_name(const struct clf_audio *audio);

/** Frees a recording; NULL is ignored. */
CLF_API void clf_audio_free(struct clf_audio *audio);

/** Returns 1 if the library was built with libsndfile and soxr and can read audio files, else 0. */
CLF_API int clf_audio_reads_files(void);

#ifdef __cplusplus
}
#endif
#endif
