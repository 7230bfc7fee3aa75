/* Decodes audio files with libsndfile or FFmpeg. */
#include "audio/decoder.h"

#include <clformer/audio.h>

#include "base/memory.h"

#ifdef CLF_HAS_AUDIO

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sndfile.h>

#include "audio/byte_range.h"
#include "audio/ffmpeg.h"
#include "audio/parts.h"
#include "audio/resampler.h"
#include "audio/spool.h"
#include "audio/wav.h"
#include "base/file.h"
#include "base/log.h"

enum { BLOCK = 4096 }; /* frames, each with one sample per channel */

struct clf__decoder {
    const char *name;
    const char *input; /* the path to show in a suggested command, or "-" */
    int descriptor;
    struct clf__audio_parts parts;
    int part;                     /* index of the current part */
    struct clf__byte_range bytes; /* bytes of the current part */
    int64_t length;               /* samples at CLF_AUDIO_RATE in all parts; 0: unknown */
    double before;                /* duration of the previous parts in seconds */
    int raw_rate;
    SNDFILE *file;
    struct clf__ffmpeg *ffmpeg; /* NULL: libsndfile decodes the part */
    SF_INFO info;               /* frames is SF_COUNT_MAX if the file does not declare the length */
    struct clf__resampler *resampler;
    float *frames; /* (BLOCK, channels) */
    float *mono;   /* (mono_size) */
    size_t mono_size;
    size_t next, filled; /* index of the next sample, and number of samples, in `mono` */
    int64_t read;        /* frames read from the part */
    int ended;           /* the part is at its end */
    int has_warned;      /* a warning about damage has been logged */
};

int clf__decoder_exists(void)
{
    return 1;
}

static clf_status check_info(const struct clf__decoder *decoder)
{
    const SF_INFO *info = &decoder->info;
    int64_t declared, present;
    if (info->frames <= 0 && clf__wav_measure(&declared, &present, &decoder->bytes) && declared == 0 &&
        present > 0) {
        return clf__fail(
            CLF_FORMAT,
            "%s: the header declares no samples, but %lld bytes follow, because the recording program was "
            "stopped; repair the file with ffmpeg -ignore_length 1 or sox --ignore-length",
            decoder->name, (long long)present);
    }
    if (info->frames <= 0) {
        return clf__fail(CLF_FORMAT, "%s: the file contains no samples; use another recording",
                         decoder->name);
    }
    if (info->samplerate < CLF__LEAST_RATE || info->samplerate > CLF__MOST_RATE) {
        return clf__fail(CLF_FORMAT,
                         "%s: a sample rate of %d Hz is not supported; convert the file to %d to %d Hz",
                         decoder->name, info->samplerate, CLF__LEAST_RATE, CLF__MOST_RATE);
    }
    return CLF_OK;
}

/* --- The current part as a stream for libsndfile --- */

static sf_count_t get_length(void *user)
{
    return clf__byte_range_size(user);
}

static sf_count_t seek(sf_count_t offset, int whence, void *user)
{
    return clf__byte_range_seek(user, offset, whence);
}

static sf_count_t read_bytes(void *target, sf_count_t wanted, void *user)
{
    return clf__byte_range_read(user, target, wanted);
}

static sf_count_t tell(void *user)
{
    return ((const struct clf__byte_range *)user)->at;
}

/* Opens the part with FFmpeg after libsndfile has rejected it. */
static clf_status start_ffmpeg(struct clf__decoder *decoder)
{
    CLF__TRY(clf__ffmpeg_open(&decoder->ffmpeg, &decoder->bytes, decoder->name, decoder->input,
                              sf_strerror(NULL)));
    int64_t length = clf__ffmpeg_length(decoder->ffmpeg);
    decoder->info = (SF_INFO){.samplerate = clf__ffmpeg_rate(decoder->ffmpeg),
                              .frames = length > 0 ? length : SF_COUNT_MAX};
    return CLF_OK;
}

/* Opens the current part. */
static clf_status start(struct clf__decoder *decoder)
{
    SF_VIRTUAL_IO reading = {.get_filelen = get_length, .seek = seek, .read = read_bytes, .tell = tell};
    decoder->info = (SF_INFO){0};
    if (decoder->raw_rate > 0) {
        decoder->info = (SF_INFO){.samplerate = decoder->raw_rate,
                                  .channels = 1,
                                  .format = SF_FORMAT_RAW | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE};
    }
    decoder->bytes = (struct clf__byte_range){.descriptor = decoder->descriptor,
                                              .begin = decoder->parts.starts[decoder->part],
                                              .end = decoder->parts.starts[decoder->part + 1]};
    decoder->next = decoder->filled = 0;
    decoder->read = 0;
    decoder->ended = 0;
    decoder->file = sf_open_virtual(&reading, SFM_READ, &decoder->info, &decoder->bytes);
    if (decoder->file == NULL) {
        CLF__TRY(start_ffmpeg(decoder));
    }
    return check_info(decoder);
}

static void stop(struct clf__decoder *decoder)
{
    if (decoder->file != NULL) {
        sf_close(decoder->file);
        decoder->file = NULL;
    }
    clf__ffmpeg_free(decoder->ffmpeg);
    decoder->ffmpeg = NULL;
    clf__resampler_free(decoder->resampler);
    decoder->resampler = NULL;
}

/* Warns if a WAV file is truncated; the available samples are read. */
static void warn_of_end(const struct clf__decoder *decoder)
{
    int64_t declared, present;
    if (clf__wav_measure(&declared, &present, &decoder->bytes) && present < declared) {
        double seconds = (double)decoder->info.frames / decoder->info.samplerate;
        clf__log(CLF_LOG_WARNING, "%s: the file is truncated; it contains %.2f s of the declared %.2f s",
                 decoder->name, seconds, seconds * (double)declared / (double)present);
    }
}

static enum clf__audio_kind kind_of(const struct clf__decoder *decoder)
{
    enum { MPEG = 0x230000 }; /* SF_FORMAT_MPEG, which libsndfile before 1.1 does not define */
    switch (decoder->info.format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_OGG:
        return CLF__AUDIO_OGG;
    case MPEG:
        return CLF__AUDIO_MPEG;
    case SF_FORMAT_FLAC:
        return CLF__AUDIO_FLAC;
    default:
        return CLF__AUDIO_OTHER;
    }
}

/* Prepares to read the opened part. */
static clf_status begin_part(struct clf__decoder *decoder)
{
    CLF__TRY(clf__resampler_create(&decoder->resampler, decoder->info.samplerate, decoder->name));
    if (decoder->ffmpeg != NULL) {
        return CLF_OK;
    }
    return clf__resize(&decoder->frames, (size_t)BLOCK * (size_t)decoder->info.channels,
                       sizeof *decoder->frames);
}

static void add_length(struct clf__decoder *decoder)
{
    const SF_INFO *info = &decoder->info;
    int is_known = info->samplerate > 0 && info->frames < SF_COUNT_MAX / CLF_AUDIO_RATE;
    decoder->length += is_known ? info->frames * CLF_AUDIO_RATE / info->samplerate : 0;
}

/* Drops the current part, which cannot be decoded, and all later parts. */
static void drop_parts(struct clf__decoder *decoder)
{
    clf__log(CLF_LOG_WARNING,
             "%s: only the first %.2f s are read, because the data that follows is not a recording: %s",
             decoder->name, (double)decoder->length / CLF_AUDIO_RATE, clf_last_error());
    decoder->parts.count = decoder->part;
}

/* Finds the parts of the file. libsndfile rejects a WAV file that is followed by another one. */
static clf_status find_parts(struct clf__decoder *decoder, int64_t first, int64_t end)
{
    struct clf__audio_parts found;
    int descriptor = decoder->descriptor, is_raw = decoder->raw_rate > 0;
    CLF__TRY(clf__audio_parts_find(&decoder->parts, is_raw ? CLF__AUDIO_OTHER : CLF__AUDIO_WAV, descriptor,
                                   first, end));
    CLF__TRY(start(decoder));
    if (decoder->parts.count == 1) {
        CLF__TRY(clf__audio_parts_find(&found, kind_of(decoder), descriptor, first, end));
        clf__audio_parts_free(&decoder->parts);
        decoder->parts = found;
    }
    return CLF_OK;
}

/* Computes the total length of all parts, then opens the first part. */
static clf_status measure_parts(struct clf__decoder *decoder)
{
    if (decoder->parts.count == 1) {
        add_length(decoder);
        return CLF_OK;
    }
    for (decoder->part = 0; decoder->part < decoder->parts.count; decoder->part++) {
        stop(decoder);
        clf_status status = start(decoder);
        if (status != CLF_OK && decoder->part > 0) {
            drop_parts(decoder);
        } else {
            CLF__TRY(status);
            add_length(decoder);
        }
    }
    stop(decoder);
    decoder->part = 0;
    return start(decoder);
}

static clf_status open_spooled(struct clf__decoder *decoder)
{
    struct stat file;
    int64_t first = lseek(decoder->descriptor, 0, SEEK_CUR);
    if (first < 0 || fstat(decoder->descriptor, &file) != 0) {
        return clf__file_fail(decoder->name, "read");
    }
    if (file.st_size <= first) {
        return clf__fail(CLF_FORMAT, "%s: is empty", decoder->name);
    }
    CLF__TRY(find_parts(decoder, first, file.st_size));
    CLF__TRY(measure_parts(decoder));
    warn_of_end(decoder);
    return begin_part(decoder);
}

clf_status clf__decoder_open(struct clf__decoder **out, const char *path, const char *name, int raw_rate)
{
    *out = NULL;
    struct clf__decoder *decoder;
    CLF__TRY(clf__allocate(&decoder, 1, sizeof *decoder));
    decoder->name = name;
    decoder->input = strcmp(path, "-") == 0 ? path : name;
    decoder->raw_rate = raw_rate;
    decoder->descriptor = -1;
    clf_status status = clf__spool_open(&decoder->descriptor, path, name);
    if (status == CLF_OK) {
        status = open_spooled(decoder);
    }
    if (status != CLF_OK) {
        clf__decoder_free(decoder);
        return status;
    }
    *out = decoder;
    return CLF_OK;
}

void clf__decoder_free(struct clf__decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    stop(decoder);
    if (decoder->descriptor >= 0) {
        close(decoder->descriptor);
    }
    clf__audio_parts_free(&decoder->parts);
    clf__free(decoder->frames);
    clf__free(decoder->mono);
    clf__free(decoder);
}

static clf_status go_to(struct clf__decoder *decoder, int part)
{
    stop(decoder);
    decoder->part = part;
    CLF__TRY(start(decoder));
    return begin_part(decoder);
}

clf_status clf__decoder_rewind(struct clf__decoder *decoder)
{
    decoder->before = 0;
    return go_to(decoder, 0);
}

/* Warns about damage only once, although a recording is read twice. */
static void warn_of_damage(struct clf__decoder *decoder, double seconds)
{
    static const double exact = 0.1; /* seconds; the length of MP3 files is an estimate */
    double all = (double)decoder->info.frames / decoder->info.samplerate, place = 0;
    const char *damage = decoder->ffmpeg != NULL ? clf__ffmpeg_damage(decoder->ffmpeg, &place) : NULL;
    if (decoder->has_warned) {
        return;
    }
    if (decoder->info.frames < SF_COUNT_MAX && seconds + exact < all) {
        decoder->has_warned = 1;
        clf__log(
            CLF_LOG_WARNING,
            "%s: the file is damaged at %.2f s and is read only up to there; its declared length is %.2f s",
            decoder->name, decoder->before + seconds, decoder->before + all);
    } else if (damage != NULL) {
        decoder->has_warned = 1;
        clf__log(CLF_LOG_WARNING,
                 "%s: the file is damaged at %.2f s; data that cannot be decoded is skipped: %s",
                 decoder->name, decoder->before + place, damage);
    }
}

/* Fails if libsndfile reports damage or a FLAC file is truncated. Warns if a decoder stops early without an
 * error, or if FFmpeg skipped data. */
static clf_status check_end(struct clf__decoder *decoder)
{
    const SF_INFO *info = &decoder->info;
    double seconds = (double)decoder->read / info->samplerate;
    if (decoder->ffmpeg != NULL) {
        warn_of_damage(decoder, clf__ffmpeg_seconds(decoder->ffmpeg));
        return CLF_OK;
    }
    if (sf_error(decoder->file) != SF_ERR_NO_ERROR) {
        return clf__fail(CLF_FORMAT, "%s: the file is damaged after %.2f s (%s); use an undamaged copy",
                         decoder->name, decoder->before + seconds, sf_strerror(decoder->file));
    }
    if ((info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC && info->frames < SF_COUNT_MAX &&
        decoder->read < info->frames) {
        return clf__fail(CLF_FORMAT, "%s: the file is truncated; it contains %.2f s of the declared %.2f s",
                         decoder->name, seconds, (double)info->frames / info->samplerate);
    }
    warn_of_damage(decoder, seconds);
    return CLF_OK;
}

static clf_status read_frames(struct clf__decoder *decoder, const float **frames, size_t *count,
                              int *channels)
{
    if (decoder->ffmpeg != NULL) {
        return clf__ffmpeg_read(decoder->ffmpeg, frames, count, channels);
    }
    sf_count_t got = sf_readf_float(decoder->file, decoder->frames, BLOCK);
    *frames = decoder->frames;
    *count = got > 0 ? (size_t)got : 0;
    *channels = decoder->info.channels;
    return CLF_OK;
}

static clf_status read_block(struct clf__decoder *decoder)
{
    const float *frames;
    size_t count;
    int channels;
    decoder->next = decoder->filled = 0;
    CLF__TRY(read_frames(decoder, &frames, &count, &channels));
    CLF__TRY(clf__grow_to(&decoder->mono, count, &decoder->mono_size, sizeof *decoder->mono));
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int c = 0; c < channels; c++) {
            sum += frames[i * (size_t)channels + (size_t)c];
        }
        decoder->mono[i] = sum / (float)channels;
    }
    decoder->filled = count;
    decoder->read += (int64_t)count;
    decoder->ended = decoder->ffmpeg != NULL ? count == 0 : count < BLOCK;
    return decoder->ended ? check_end(decoder) : CLF_OK;
}

/* Resamples the frames of the block; at the end of the part, returns the remaining samples of the resampler.
 */
static clf_status convert(struct clf__decoder *decoder, float *samples, size_t room, size_t *count)
{
    size_t have = decoder->filled - decoder->next, used;
    CLF__TRY(clf__resampler_run(decoder->resampler, decoder->mono + decoder->next, have, &used, samples, room,
                                count));
    decoder->next += used;
    return CLF_OK;
}

clf_status clf__decoder_read(struct clf__decoder *decoder, float *samples, size_t wanted, size_t *count)
{
    *count = 0;
    while (*count < wanted) {
        if (decoder->next == decoder->filled && !decoder->ended) {
            CLF__TRY(read_block(decoder));
        }
        int is_last = decoder->ended && decoder->next == decoder->filled;
        size_t more;
        CLF__TRY(convert(decoder, samples + *count, wanted - *count, &more));
        *count += more;
        if (is_last && more == 0) {
            if (decoder->part + 1 == decoder->parts.count) {
                return CLF_OK;
            }
            decoder->before += (double)decoder->read / decoder->info.samplerate;
            CLF__TRY(go_to(decoder, decoder->part + 1));
        }
    }
    return CLF_OK;
}

int64_t clf__decoder_length(const struct clf__decoder *decoder)
{
    return decoder->length;
}

#else

int clf__decoder_exists(void)
{
    return 0;
}

clf_status clf__decoder_open(struct clf__decoder **out, const char *path, const char *name, int raw_rate)
{
    (void)path;
    (void)raw_rate;
    *out = NULL;
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: clformer was built without libsndfile and soxr, which decode recordings; install "
                     "them (Debian: libsndfile1-dev, libsoxr-dev) and build clformer again",
                     name);
}

void clf__decoder_free(struct clf__decoder *decoder)
{
    (void)decoder;
}

clf_status clf__decoder_read(struct clf__decoder *decoder, float *samples, size_t wanted, size_t *count)
{
    (void)decoder;
    (void)samples;
    (void)wanted;
    *count = 0;
    return CLF_OK;
}

clf_status clf__decoder_rewind(struct clf__decoder *decoder)
{
    (void)decoder;
    return CLF_OK;
}

int64_t clf__decoder_length(const struct clf__decoder *decoder)
{
    (void)decoder;
    return 0;
}

#endif
