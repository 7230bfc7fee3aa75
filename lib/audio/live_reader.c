#include "audio/live_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/audio.h>

#include "audio/decoder.h"
#include "audio/resampler.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "base/minmax.h"

enum {
    QUEUE = 32 << 20,
    BLOCK = 1 << 16,     /* bytes of a read */
    PIPE = 1 << 20,      /* bytes that a pipe should hold */
    POLL_MS = 100,       /* between two calls of `interrupted` */
    FRAMES = 4096,       /* converted at a time */
    STREAMS = 0x7ffff000 /* a larger size in a WAV header means that the length is unknown */
};

/* The encoding of the samples of a WAV file. */
enum { WAV_INTEGER = 1, WAV_FLOAT = 3, WAV_EXTENSIBLE = 0xFFFE };

struct clf__live_reader {
    char *name;
    int descriptor, raw_rate;
    int (*interrupted)(void *payload);
    void *payload;
    int is_file;    /* a regular file, which never waits */
    int error;      /* errno of a failed read; 0: none */
    int at_end;     /* the descriptor is at its end */
    uint8_t *queue; /* (filled) bytes; those before `used` have been read */
    size_t used, filled, capacity;
    int has_header; /* the format is known: */
    int rate, channels, width, is_float;
    int64_t left; /* bytes of samples that follow; INT64_MAX: unknown */
    struct clf__resampler *resampler;
    float *mono; /* (mono_count) converted samples; those before mono_used have been read */
    size_t mono_used, mono_count;
};

static clf_status open_descriptor(struct clf__live_reader *reader, const char *path)
{
    struct stat status;
    reader->descriptor =
        strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->descriptor < 0 && errno == EINTR) {
        return clf__fail(CLF_INTERRUPTED, "interrupted");
    }
    if (reader->descriptor < 0 || fstat(reader->descriptor, &status) != 0) {
        return clf__file_fail(reader->name, "opened");
    }
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return clf__file_fail(reader->name, "opened");
    }
    reader->is_file = S_ISREG(status.st_mode);
    if (S_ISFIFO(status.st_mode)) { /* smaller pipes work, but the writer may have to wait */
        fcntl(reader->descriptor, F_SETPIPE_SZ, PIPE);
    }
    return CLF_OK;
}

clf_status clf__live_reader_open(struct clf__live_reader **out, const char *path, int raw_rate,
                                 int (*interrupted)(void *payload), void *payload)
{
    struct clf__live_reader *reader;
    *out = NULL;
    if (raw_rate > 0 && (raw_rate < CLF__LEAST_RATE || raw_rate > CLF__MOST_RATE)) {
        return clf__fail(CLF_BAD_ARGUMENT, "a sample rate of %d Hz is not supported; use %d to %d Hz",
                         raw_rate, CLF__LEAST_RATE, CLF__MOST_RATE);
    }
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->descriptor = -1;
    reader->raw_rate = raw_rate;
    reader->interrupted = interrupted;
    reader->payload = payload;
    clf_status status = clf__copy_string(&reader->name, strcmp(path, "-") == 0 ? "standard input" : path);
    if (status == CLF_OK) {
        status = open_descriptor(reader, path);
    }
    if (status == CLF_OK) {
        status = clf__allocate(&reader->mono, FRAMES, sizeof *reader->mono);
    }
    if (status != CLF_OK) {
        clf__live_reader_free(reader);
        return status;
    }
    *out = reader;
    return CLF_OK;
}

void clf__live_reader_free(struct clf__live_reader *reader)
{
    if (reader != NULL) {
        if (reader->descriptor >= 0) {
            close(reader->descriptor);
        }
        clf__resampler_free(reader->resampler);
        clf__free(reader->queue);
        clf__free(reader->mono);
        clf__free(reader->name);
        clf__free(reader);
    }
}

/* --- Bytes --- */

/* Makes room for a block; returns 0 if the queue is full. */
static int make_room(struct clf__live_reader *reader)
{
    if (reader->used > 0 && reader->used >= reader->filled / 2) {
        reader->filled -= reader->used;
        memmove(reader->queue, reader->queue + reader->used, reader->filled);
        reader->used = 0;
    }
    if (reader->filled + BLOCK > QUEUE) {
        return 0;
    }
    if (clf__grow_to(&reader->queue, reader->filled + BLOCK, &reader->capacity, 1) != CLF_OK) {
        reader->error = ENOMEM;
        reader->at_end = 1;
    }
    return reader->error == 0;
}

/* Waits up to `milliseconds` for bytes and stores at most a block. Returns 1 if bytes
 * arrived. */
static int receive(struct clf__live_reader *reader, int milliseconds)
{
    struct pollfd ready = {.fd = reader->descriptor, .events = POLLIN};
    if (reader->at_end || !make_room(reader) || poll(&ready, 1, milliseconds) <= 0) {
        return 0;
    }
    ssize_t size = read(reader->descriptor, reader->queue + reader->filled, BLOCK);
    if (size < 0 && errno != EINTR && errno != EAGAIN) {
        reader->error = errno;
    }
    reader->at_end = size == 0 || reader->error != 0;
    reader->filled += size > 0 ? (size_t)size : 0;
    return size > 0;
}

void clf__live_reader_store(struct clf__live_reader *reader)
{
    while (!reader->is_file && receive(reader, 0)) {
    }
}

/* Waits until the queue has at least `size` bytes or the stream ends. Returns CLF_INTERRUPTED. */
static clf_status await(struct clf__live_reader *reader, size_t size)
{
    while (reader->filled - reader->used < size && !reader->at_end) {
        if (reader->interrupted != NULL && reader->interrupted(reader->payload)) {
            return clf__fail(CLF_INTERRUPTED, "interrupted");
        }
        receive(reader, POLL_MS);
    }
    errno = reader->error;
    return reader->error == 0 ? CLF_OK : clf__file_fail(reader->name, "read");
}

/* --- The header --- */

static clf_status fail_format(const struct clf__live_reader *reader)
{
    return clf__fail(CLF_FORMAT,
                     "%s: not a WAV stream of 8 to 32-bit samples; record one, use --raw RATE for samples "
                     "without a header, or convert the stream with ffmpeg -i - -f wav -",
                     reader->name);
}

static const uint8_t *peek(const struct clf__live_reader *reader)
{
    return reader->queue + reader->used;
}

/* Waits for `size` bytes; the stream must not end before. */
static clf_status need(struct clf__live_reader *reader, size_t size)
{
    CLF__TRY(await(reader, size));
    return reader->filled - reader->used >= size ? CLF_OK : fail_format(reader);
}

static clf_status take_format(struct clf__live_reader *reader, size_t size)
{
    enum { LEAST = 16, EXTENDED = 26 };
    const uint8_t *bytes = peek(reader);
    if (size < LEAST) {
        return fail_format(reader);
    }
    uint32_t kind = clf__read_16(bytes), bits = clf__read_16(bytes + 14);
    kind = kind == WAV_EXTENSIBLE && size >= EXTENDED ? clf__read_16(bytes + 24) : kind;
    reader->channels = (int)clf__read_16(bytes + 2);
    reader->rate = (int)clf__min_int64(clf__read_32(bytes + 4), CLF__MOST_RATE + 1);
    reader->width = (int)bits / 8;
    reader->is_float = kind == WAV_FLOAT;
    int is_known = (kind == WAV_INTEGER && bits >= 8 && bits <= 32) || (kind == WAV_FLOAT && bits == 32);
    return is_known && bits % 8 == 0 && reader->channels > 0 && reader->rate >= CLF__LEAST_RATE &&
                   reader->rate <= CLF__MOST_RATE
               ? CLF_OK
               : fail_format(reader);
}

static clf_status read_wav(struct clf__live_reader *reader)
{
    enum { RIFF = 12, CHUNK = 8, MOST_CHUNK = 1 << 20 };
    CLF__TRY(need(reader, RIFF));
    if (memcmp(peek(reader), "RIFF", 4) != 0 || memcmp(peek(reader) + 8, "WAVE", 4) != 0) {
        return fail_format(reader);
    }
    reader->used += RIFF;
    for (;;) {
        CLF__TRY(need(reader, CHUNK));
        int64_t size = clf__read_32(peek(reader) + 4);
        int is_format = memcmp(peek(reader), "fmt ", 4) == 0, is_data = memcmp(peek(reader), "data", 4) == 0;
        reader->used += CHUNK;
        if (is_data && reader->channels > 0) {
            reader->left = size > 0 && size < STREAMS ? size : INT64_MAX;
            return CLF_OK;
        }
        if (is_data || size > MOST_CHUNK) {
            return fail_format(reader);
        }
        CLF__TRY(need(reader, (size_t)size));
        CLF__TRY(is_format ? take_format(reader, (size_t)size) : CLF_OK);
        reader->used += (size_t)size;
        if (size % 2 != 0) {
            CLF__TRY(need(reader, 1));
            reader->used++;
        }
    }
}

static clf_status read_header(struct clf__live_reader *reader)
{
    if (reader->raw_rate > 0) {
        reader->rate = reader->raw_rate;
        reader->channels = 1;
        reader->width = sizeof(int16_t);
        reader->left = INT64_MAX;
    } else {
        CLF__TRY(read_wav(reader));
    }
    CLF__TRY(clf__resampler_create(&reader->resampler, reader->rate, reader->name));
    reader->has_header = 1;
    return CLF_OK;
}

/* --- Samples --- */

static float convert(const struct clf__live_reader *reader, const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)clf__read_number(bytes, (size_t)reader->width);
    float value;
    if (reader->is_float) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (reader->width == 1) { /* unsigned */
        return ((float)bits - 128) / 128;
    }
    int32_t number = (int32_t)(bits << (32 - 8 * reader->width));
    return (float)number / 2147483648.0F;
}

/* Converts frames that have arrived to mono samples. */
static void convert_frames(struct clf__live_reader *reader)
{
    size_t frame = (size_t)(reader->width * reader->channels), have = reader->filled - reader->used;
    have = (uint64_t)reader->left < have ? (size_t)reader->left : have;
    size_t count = clf__min_size(have / frame, FRAMES);
    const uint8_t *bytes = peek(reader);
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int c = 0; c < reader->channels; c++, bytes += reader->width) {
            sum += convert(reader, bytes);
        }
        reader->mono[i] = sum / (float)reader->channels;
    }
    reader->mono_used = 0;
    reader->mono_count = count;
    reader->used += count * frame;
    reader->left -= reader->left < INT64_MAX ? (int64_t)(count * frame) : 0;
}

/* Returns 1 if no further frame will arrive. */
static int has_ended(const struct clf__live_reader *reader)
{
    int64_t frame = reader->width * reader->channels, have = (int64_t)(reader->filled - reader->used);
    return reader->left < frame || (reader->at_end && have < frame);
}

clf_status clf__live_reader_read(float *samples, size_t *count, struct clf__live_reader *reader, size_t room)
{
    *count = 0;
    CLF__TRY(reader->has_header ? CLF_OK : read_header(reader));
    while (*count == 0) {
        if (reader->mono_used == reader->mono_count && !has_ended(reader)) {
            CLF__TRY(await(reader, (size_t)(reader->width * reader->channels)));
            convert_frames(reader);
        }
        int is_last = reader->mono_used == reader->mono_count && has_ended(reader);
        size_t used, have = reader->mono_count - reader->mono_used;
        if (have > 0 || is_last) {
            CLF__TRY(clf__resampler_run(reader->resampler, reader->mono + reader->mono_used, have, &used,
                                        samples, room, count));
            reader->mono_used += used;
        }
        if (is_last && *count == 0) {
            return CLF_OK;
        }
    }
    return CLF_OK;
}

size_t clf__live_reader_waiting(struct clf__live_reader *reader)
{
    clf__live_reader_store(reader);
    if (reader->is_file || !reader->has_header) {
        return 0;
    }
    size_t frames = (reader->filled - reader->used) / (size_t)(reader->width * reader->channels);
    return (size_t)((double)frames * CLF_AUDIO_RATE / reader->rate);
}
