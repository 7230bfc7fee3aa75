#include "serve/wyoming_audio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/little_endian.h"
#include "serve/temporary.h"

/* The ranges that libsndfile and the resampler have. */
enum { HEADER = 44, LEAST_RATE = 1000, MOST_RATE = 1000000, MOST_WIDTH = 4, MOST_CHANNELS = 1024 };

/* Reads an integer from 1 to `most`; 0: it is missing or another value. */
static int read_number(const json_t *data, const char *name, int most)
{
    json_int_t value = json_integer_value(json_object_get(data, name));
    return value >= 1 && value <= most ? (int)value : 0;
}

int wyoming_audio_format(struct wyoming_audio *audio, const json_t *data)
{
    int rate = read_number(data, "rate", MOST_RATE), width = read_number(data, "width", MOST_WIDTH),
        channels = read_number(data, "channels", MOST_CHANNELS);
    if (audio->rate > 0) {
        return rate == audio->rate && width == audio->width && channels == audio->channels;
    }
    if (rate < LEAST_RATE || width == 0 || channels == 0) {
        return 0;
    }
    audio->rate = rate;
    audio->width = width;
    audio->channels = channels;
    return 1;
}

int wyoming_audio_add(struct wyoming_audio *audio, const char *bytes, size_t size)
{
    static const char header[HEADER] = "";
    if (audio->file < 0) {
        audio->file = temporary_create();
        if (audio->file < 0 || !temporary_write(audio->file, header, HEADER)) {
            return 0;
        }
    }
    audio->size += size;
    return temporary_write(audio->file, bytes, size);
}

int wyoming_audio_end(uint64_t *frames, struct wyoming_audio *audio)
{
    uint32_t frame = (uint32_t)(audio->width * audio->channels);
    *frames = frame > 0 ? audio->size / frame : 0;
    if (*frames == 0) {
        return 1;
    }
    uint32_t size = (uint32_t)(*frames * frame);
    uint8_t header[HEADER] = "RIFF....WAVEfmt \x10\0\0\0\1\0";
    clf__write_32(header + 4, HEADER - 8 + size);
    clf__write_16(header + 22, (uint16_t)audio->channels);
    clf__write_32(header + 24, (uint32_t)audio->rate);
    clf__write_32(header + 28, (uint32_t)audio->rate * frame);
    clf__write_16(header + 32, (uint16_t)frame);
    clf__write_16(header + 34, (uint16_t)(8 * audio->width));
    memcpy(header + 36, "data", 4);
    clf__write_32(header + 40, size);
    if (lseek(audio->file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "clformer: a recording cannot be stored: %s\n", strerror(errno));
        return 0;
    }
    return temporary_write(audio->file, header, HEADER);
}

void wyoming_audio_close(struct wyoming_audio *audio)
{
    if (audio->file >= 0) {
        close(audio->file);
    }
    audio->file = -1;
}
