#include "audio/ffmpeg.h"

#include <string.h>

#include "audio/container.h"
#include "base/memory.h"

/* Formats a command that converts the recording. */
static clf_status format_command(char **out, const char *input)
{
    /* Within single quotes, a shell takes all characters literally except the quote. */
    const char *path = strchr(input, '\'') == NULL ? input : "FILE";
    return clf__format(out, "ffmpeg -i '%s' -f wav - | clformer transcribe -m MODEL -", path);
}

/* Fails because FFmpeg is not available; `cause` is the reason. */
static clf_status fail_without(const struct clf__byte_range *bytes, const char *name, const char *input,
                               const char *reason, const char *cause)
{
    const char *container = clf__container_name(bytes);
    char *command;
    CLF__TRY(format_command(&command, input));
    clf_status status = container != NULL
                            ? clf__fail(CLF_UNSUPPORTED, "%s: cannot be read (%s): %s; run: %s", name,
                                        container, cause, command)
                            : clf__fail(CLF_FORMAT,
                                        "%s: not a supported recording such as WAV, FLAC, OGG or MP3 (%s); "
                                        "%s; if ffmpeg can decode the file, run: %s",
                                        name, reason, cause, command);
    clf__free(command);
    return status;
}

#ifdef CLF_HAS_FFMPEG

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "audio/ffmpeg_load.h"

enum { MESSAGE = 160 };

/* FFmpeg's functions, loaded for the first recording that needs them. */
static struct clf__ffmpeg_functions ff;
static char load_error[512]; /* empty if the functions are loaded */

struct clf__ffmpeg {
    const char *name;
    const struct clf__byte_range *bytes;
    AVIOContext *io;
    AVFormatContext *format;
    AVStream *stream;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    SwrContext *converter;  /* converts samples of any type to floats; NULL before the first frame */
    AVChannelLayout layout; /* input layout of the converter */
    int type;
    int rate;
    float *frames;
    size_t capacity; /* in floats */
    int has_ended;   /* the file has ended; the decoder may still hold frames */
    int64_t decoded; /* number of decoded frames */
    double seconds;
    char damage[MESSAGE]; /* first error message about damage; empty: none */
    double damaged_at;
};

/* --- FFmpeg's messages: each thread keeps the first error message of a file. --- */

static _Thread_local char first_message[MESSAGE];

static void keep_message(void *context, int level, const char *format, va_list arguments)
{
    (void)context;
    if (level <= AV_LOG_ERROR && first_message[0] == '\0') {
        int prefix = 0;
        ff.av_log_format_line2(NULL, level, format, arguments, first_message, MESSAGE, &prefix);
        first_message[strcspn(first_message, "\r\n")] = '\0';
    }
}

static void load(void)
{
    char reason[400];
    if (clf__ffmpeg_load(&ff, reason, sizeof reason)) {
        ff.av_log_set_callback(keep_message);
    } else {
        snprintf(load_error, sizeof load_error, "FFmpeg's libraries cannot be loaded (%s)", reason);
    }
}

static const char *explain(char *room, size_t size, int error)
{
    if (first_message[0] == '\0') {
        ff.av_strerror(error, room, size);
        return room;
    }
    snprintf(room, size, "%s", first_message);
    return room;
}

static void note_damage(struct clf__ffmpeg *ffmpeg, int error)
{
    if (ffmpeg->damage[0] == '\0') {
        explain(ffmpeg->damage, sizeof ffmpeg->damage, error);
        ffmpeg->damaged_at = ffmpeg->seconds;
    }
}

/* --- Opening --- */

static int read_bytes(void *user, uint8_t *target, int wanted)
{
    int64_t got = clf__byte_range_read(user, target, wanted);
    return got > 0 ? (int)got : AVERROR_EOF;
}

static int64_t seek(void *user, int64_t offset, int whence)
{
    return (whence & AVSEEK_SIZE) != 0 ? clf__byte_range_size(user)
                                       : clf__byte_range_seek(user, offset, whence & ~AVSEEK_FORCE);
}

/* Refuses to open other files, which a playlist may reference. */
static int refuse(AVFormatContext *format, AVIOContext **io, const char *url, int flags,
                  AVDictionary **options)
{
    (void)format, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EACCES);
}

static clf_status fail_memory(const struct clf__ffmpeg *ffmpeg)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to decode %s with FFmpeg", ffmpeg->name);
}

static clf_status create(struct clf__ffmpeg *ffmpeg, struct clf__byte_range *bytes)
{
    enum { BUFFER = 1 << 15 };
    unsigned char *buffer = ff.av_malloc(BUFFER);
    ffmpeg->io =
        buffer != NULL ? ff.avio_alloc_context(buffer, BUFFER, 0, bytes, read_bytes, NULL, seek) : NULL;
    if (ffmpeg->io == NULL) {
        ff.av_free(buffer);
        return fail_memory(ffmpeg);
    }
    ffmpeg->packet = ff.av_packet_alloc();
    ffmpeg->frame = ff.av_frame_alloc();
    ffmpeg->format = ff.avformat_alloc_context();
    if (ffmpeg->packet == NULL || ffmpeg->frame == NULL || ffmpeg->format == NULL) {
        return fail_memory(ffmpeg);
    }
    ffmpeg->format->pb = ffmpeg->io;
    ffmpeg->format->io_open = refuse;
    return CLF_OK;
}

/* Opens the container. FFmpeg guesses a format for any bytes; guesses with a score below LEAST_SCORE are
 * rejected. */
static clf_status open_container(struct clf__ffmpeg *ffmpeg, const struct clf__byte_range *bytes,
                                 const char *reason)
{
    enum { LEAST_SCORE = AVPROBE_SCORE_MAX / 4 };
    char text[MESSAGE];
    const char *container = clf__container_name(bytes);
    int error = ff.avformat_open_input(&ffmpeg->format, NULL, NULL, NULL); /* frees the format on failure */
    if (error >= 0 && (container != NULL || ffmpeg->format->probe_score >= LEAST_SCORE)) {
        error = ff.avformat_find_stream_info(ffmpeg->format, NULL);
        container = container != NULL ? container : ffmpeg->format->iformat->long_name;
        return error >= 0 ? CLF_OK
                          : clf__fail(CLF_FORMAT, "%s: cannot be read (%s): %s", ffmpeg->name, container,
                                      explain(text, sizeof text, error));
    }
    if (container != NULL) {
        return clf__fail(CLF_FORMAT, "%s: damaged or truncated (%s): %s; use an undamaged copy", ffmpeg->name,
                         container, explain(text, sizeof text, error));
    }
    return clf__fail(
        CLF_FORMAT,
        "%s: not a supported recording such as WAV, FLAC, OGG, MP3 or M4A (%s); convert it with ffmpeg",
        ffmpeg->name, reason);
}

static clf_status open_codec(struct clf__ffmpeg *ffmpeg)
{
    char text[MESSAGE];
    const AVCodec *codec = NULL;
    AVFormatContext *format = ffmpeg->format;
    int index = ff.av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0);
    if (index == AVERROR_STREAM_NOT_FOUND) {
        return clf__fail(CLF_FORMAT, "%s: the file contains no audio (%s); use another recording",
                         ffmpeg->name, format->iformat->long_name);
    }
    if (index < 0) {
        return clf__fail(
            CLF_FORMAT,
            "%s: FFmpeg has no decoder for the audio in this file (%s); convert the file to WAV or FLAC",
            ffmpeg->name, format->iformat->long_name);
    }
    for (unsigned i = 0; i < format->nb_streams; i++) {
        format->streams[i]->discard = (int)i == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    ffmpeg->stream = format->streams[index];
    ffmpeg->codec = ff.avcodec_alloc_context3(codec);
    if (ffmpeg->codec == NULL) {
        return fail_memory(ffmpeg);
    }
    int error = ff.avcodec_parameters_to_context(ffmpeg->codec, ffmpeg->stream->codecpar);
    ffmpeg->codec->pkt_timebase = ffmpeg->stream->time_base;
    error = error < 0 ? error : ff.avcodec_open2(ffmpeg->codec, codec, NULL);
    ffmpeg->rate = ffmpeg->stream->codecpar->sample_rate;
    return error < 0 ? clf__fail(CLF_FORMAT, "%s: the audio (%s) cannot be decoded: %s", ffmpeg->name,
                                 codec->name, explain(text, sizeof text, error))
                     : CLF_OK;
}

clf_status clf__ffmpeg_open(struct clf__ffmpeg **out, struct clf__byte_range *bytes, const char *name,
                            const char *input, const char *reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    pthread_once(&once, load);
    if (load_error[0] != '\0') {
        return fail_without(bytes, name, input, reason, load_error);
    }
    struct clf__ffmpeg *ffmpeg;
    first_message[0] = '\0';
    CLF__TRY(clf__allocate(&ffmpeg, 1, sizeof *ffmpeg));
    ffmpeg->name = name;
    ffmpeg->bytes = bytes;
    bytes->at = 0;
    clf_status status = create(ffmpeg, bytes);
    if (status == CLF_OK) {
        status = open_container(ffmpeg, bytes, reason);
    }
    if (status == CLF_OK) {
        status = open_codec(ffmpeg);
    }
    if (status != CLF_OK) {
        clf__ffmpeg_free(ffmpeg);
        return status;
    }
    *out = ffmpeg;
    return CLF_OK;
}

void clf__ffmpeg_free(struct clf__ffmpeg *ffmpeg)
{
    if (ffmpeg == NULL) {
        return;
    }
    ff.avcodec_free_context(&ffmpeg->codec);
    ff.avformat_close_input(&ffmpeg->format);
    if (ffmpeg->io != NULL) {
        ff.av_freep(&ffmpeg->io->buffer);
    }
    ff.avio_context_free(&ffmpeg->io);
    ff.av_packet_free(&ffmpeg->packet);
    ff.av_frame_free(&ffmpeg->frame);
    ff.swr_free(&ffmpeg->converter);
    ff.av_channel_layout_uninit(&ffmpeg->layout);
    clf__free(ffmpeg->frames);
    clf__free(ffmpeg);
}

int clf__ffmpeg_rate(const struct clf__ffmpeg *ffmpeg)
{
    return ffmpeg->rate;
}

/* Returns the number of streams other than cover pictures, which have no duration. */
static int count_streams(const AVFormatContext *format)
{
    int count = 0;
    for (unsigned i = 0; i < format->nb_streams; i++) {
        count += (format->streams[i]->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
    }
    return count;
}

/* MP4 files store a duration per stream. Other files have one duration, which in a film may exceed that of
 * the audio. Durations that FFmpeg estimated from the bit rate are ignored. */
int64_t clf__ffmpeg_length(const struct clf__ffmpeg *ffmpeg)
{
    const AVFormatContext *format = ffmpeg->format;
    const AVStream *stream = ffmpeg->stream;
    int is_estimate = format->duration_estimation_method == AVFMT_DURATION_FROM_BITRATE;
    AVRational samples = {1, ffmpeg->rate};
    if (strncmp(format->iformat->name, "mov", 3) == 0 && stream->duration > 0 && !is_estimate) {
        return ff.av_rescale_q(stream->duration, stream->time_base, samples);
    }
    if (count_streams(format) > 1) {
        return 0;
    }
    if (strcmp(format->iformat->name, "asf") == 0) {
        return (int64_t)(clf__container_wma_seconds(ffmpeg->bytes) * ffmpeg->rate);
    }
    return format->duration > 0 && !is_estimate ? ff.av_rescale_q(format->duration, AV_TIME_BASE_Q, samples)
                                                : 0;
}

/* --- Decoding --- */

/* Creates the converter for the frame, whose channels and type may differ from those of earlier frames. */
static clf_status prepare_converter(struct clf__ffmpeg *ffmpeg)
{
    const AVFrame *frame = ffmpeg->frame;
    if (frame->sample_rate != ffmpeg->rate) {
        return clf__fail(
            CLF_FORMAT,
            "%s: the sample rate changes from %d to %d Hz at %.2f s; convert the file with ffmpeg -ar 16000",
            ffmpeg->name, ffmpeg->rate, frame->sample_rate, ffmpeg->seconds);
    }
    if (ffmpeg->converter != NULL && ffmpeg->type == frame->format &&
        ff.av_channel_layout_compare(&ffmpeg->layout, &frame->ch_layout) == 0) {
        return CLF_OK;
    }
    ffmpeg->type = frame->format;
    if (ff.av_channel_layout_copy(&ffmpeg->layout, &frame->ch_layout) < 0 ||
        ff.swr_alloc_set_opts2(&ffmpeg->converter, &ffmpeg->layout, AV_SAMPLE_FMT_FLT, ffmpeg->rate,
                               &ffmpeg->layout, frame->format, ffmpeg->rate, 0, NULL) < 0 ||
        ff.swr_init(ffmpeg->converter) < 0) {
        return fail_memory(ffmpeg);
    }
    return CLF_OK;
}

static clf_status convert(struct clf__ffmpeg *ffmpeg)
{
    AVFrame *frame = ffmpeg->frame;
    CLF__TRY(prepare_converter(ffmpeg));
    CLF__TRY(clf__grow_to(&ffmpeg->frames, (size_t)frame->nb_samples * (size_t)frame->ch_layout.nb_channels,
                          &ffmpeg->capacity, sizeof *ffmpeg->frames));
    uint8_t *to = (uint8_t *)ffmpeg->frames;
    int got = ff.swr_convert(ffmpeg->converter, &to, frame->nb_samples, (void *)frame->extended_data,
                             frame->nb_samples);
    if (got != frame->nb_samples) {
        return fail_memory(ffmpeg);
    }
    return CLF_OK;
}

static void advance(struct clf__ffmpeg *ffmpeg)
{
    const AVFrame *frame = ffmpeg->frame;
    const AVStream *stream = ffmpeg->stream;
    double own = (double)frame->nb_samples / ffmpeg->rate;
    if (frame->best_effort_timestamp != AV_NOPTS_VALUE) {
        int64_t first = stream->start_time != AV_NOPTS_VALUE ? stream->start_time : 0;
        ffmpeg->seconds = (double)(frame->best_effort_timestamp - first) * av_q2d(stream->time_base) + own;
    } else {
        ffmpeg->seconds += own;
    }
    ffmpeg->decoded += frame->nb_samples;
}

/* Sends the next packet of the stream to the decoder, or the end-of-stream marker. */
static int feed(struct clf__ffmpeg *ffmpeg)
{
    int error;
    do {
        ff.av_packet_unref(ffmpeg->packet);
        error = ff.av_read_frame(ffmpeg->format, ffmpeg->packet);
    } while (error >= 0 && ffmpeg->packet->stream_index != ffmpeg->stream->index);
    if (error >= 0) {
        return ff.avcodec_send_packet(ffmpeg->codec, ffmpeg->packet);
    }
    ffmpeg->has_ended = 1;
    int is_end =
        error == AVERROR_EOF &&
        first_message[0] == '\0'; /* the file is complete: FFmpeg did not report "File ended prematurely" */
    int sent = ff.avcodec_send_packet(ffmpeg->codec, NULL);
    return is_end ? sent : error;
}

/* Fails if the whole file yielded no samples. */
static clf_status check_decoded(const struct clf__ffmpeg *ffmpeg)
{
    if (ffmpeg->decoded > 0) {
        return CLF_OK;
    }
    return ffmpeg->damage[0] != '\0'
               ? clf__fail(CLF_FORMAT, "%s: the audio (%s) cannot be decoded: %s", ffmpeg->name,
                           ffmpeg->codec->codec->name, ffmpeg->damage)
               : clf__fail(CLF_FORMAT, "%s: the file contains no samples; use another recording",
                           ffmpeg->name);
}

clf_status clf__ffmpeg_read(struct clf__ffmpeg *ffmpeg, const float **frames, size_t *count, int *channels)
{
    *count = 0;
    for (;;) {
        first_message[0] = '\0';
        int error = ff.avcodec_receive_frame(ffmpeg->codec, ffmpeg->frame);
        if (error == AVERROR(EAGAIN) && !ffmpeg->has_ended) {
            error = feed(ffmpeg);
        } else if (error == AVERROR_EOF || (error < 0 && ffmpeg->has_ended)) {
            return check_decoded(ffmpeg);
        } else if (error >= 0 && ffmpeg->frame->nb_samples > 0) {
            CLF__TRY(convert(ffmpeg));
            advance(ffmpeg);
            *frames = ffmpeg->frames;
            *count = (size_t)ffmpeg->frame->nb_samples;
            *channels = ffmpeg->frame->ch_layout.nb_channels;
            return CLF_OK;
        }
        if (error == AVERROR(ENOMEM)) {
            return fail_memory(ffmpeg);
        }
        if (error < 0) {
            note_damage(ffmpeg, error);
        }
    }
}

double clf__ffmpeg_seconds(const struct clf__ffmpeg *ffmpeg)
{
    return ffmpeg->seconds;
}

const char *clf__ffmpeg_damage(const struct clf__ffmpeg *ffmpeg, double *seconds)
{
    *seconds = ffmpeg->damaged_at;
    return ffmpeg->damage[0] != '\0' ? ffmpeg->damage : NULL;
}

#else

clf_status clf__ffmpeg_open(struct clf__ffmpeg **out, struct clf__byte_range *bytes, const char *name,
                            const char *input, const char *reason)
{
    *out = NULL;
    return fail_without(bytes, name, input, reason, "clformer was built without FFmpeg's libraries");
}

void clf__ffmpeg_free(struct clf__ffmpeg *ffmpeg)
{
    (void)ffmpeg;
}

int clf__ffmpeg_rate(const struct clf__ffmpeg *ffmpeg)
{
    (void)ffmpeg;
    return 0;
}

int64_t clf__ffmpeg_length(const struct clf__ffmpeg *ffmpeg)
{
    (void)ffmpeg;
    return 0;
}

clf_status clf__ffmpeg_read(struct clf__ffmpeg *ffmpeg, const float **frames, size_t *count, int *channels)
{
    (void)ffmpeg, (void)frames, (void)channels;
    *count = 0;
    return CLF_OK;
}

double clf__ffmpeg_seconds(const struct clf__ffmpeg *ffmpeg)
{
    (void)ffmpeg;
    return 0;
}

const char *clf__ffmpeg_damage(const struct clf__ffmpeg *ffmpeg, double *seconds)
{
    (void)ffmpeg, (void)seconds;
    return NULL;
}

#endif
