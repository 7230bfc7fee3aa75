#define _XOPEN_SOURCE 700 /* pread() */

#include "audio/parts.h"

#include <string.h>
#include <unistd.h>

#include "base/little_endian.h"
#include "base/memory.h"

enum { WINDOW = 1 << 16 };

/* The bytes of a file, read through a window in memory. */
struct bytes {
    int descriptor;
    int64_t end;   /* end of the file */
    int64_t first; /* offset of the window */
    int64_t held;  /* bytes in the window */
    uint8_t *window;
};

/* Returns `size` bytes at `at`, borrowed until the next call; NULL if the file is shorter. */
static const uint8_t *look(struct bytes *bytes, int64_t at, int64_t size)
{
    if (at < 0 || at > bytes->end - size) {
        return NULL;
    }
    if (at < bytes->first || at + size > bytes->first + bytes->held) {
        int64_t wanted = bytes->end - at < WINDOW ? bytes->end - at : WINDOW;
        ssize_t got = pread(bytes->descriptor, bytes->window, (size_t)wanted, (off_t)at);
        bytes->first = at;
        bytes->held = got > 0 ? got : 0;
    }
    return size <= bytes->held ? bytes->window + (at - bytes->first) : NULL;
}

/* Returns the first offset, `at` or later, with these bytes, or the end of the file. */
static int64_t find(struct bytes *bytes, int64_t at, const char *wanted, int64_t size)
{
    const uint8_t *here;
    for (; (here = look(bytes, at, size)) != NULL; at++) {
        int64_t room = bytes->first + bytes->held - at - size;
        const uint8_t *found = memchr(here, wanted[0], (size_t)room + 1);
        if (found == NULL) {
            at += room;
        } else if (at += found - here, memcmp(found, wanted, (size_t)size) == 0) {
            return at;
        }
    }
    return bytes->end;
}

static clf_status add(struct clf__audio_parts *parts, int64_t start)
{
    CLF__TRY(clf__grow(&parts->starts, parts->count, &parts->capacity, sizeof *parts->starts));
    parts->starts[parts->count++] = start;
    return CLF_OK;
}

/* --- Ogg: a part begins at a start-of-stream page that follows another kind of page. --- */

enum { PAGE_HEADER = 27, BEGINS_STREAM = 2 };

/* Returns the size of the page at `at`; 0 if there is no page. */
static int64_t page_size(struct bytes *bytes, int64_t at, int *begins_stream)
{
    const uint8_t *header = look(bytes, at, PAGE_HEADER);
    if (header == NULL || memcmp(header, "OggS", 5) != 0) { /* includes version 0 */
        return 0;
    }
    int segments = header[PAGE_HEADER - 1];
    *begins_stream = (header[5] & BEGINS_STREAM) != 0;
    const uint8_t *sizes = look(bytes, at + PAGE_HEADER, segments);
    int64_t size = PAGE_HEADER + segments;
    for (int i = 0; sizes != NULL && i < segments; i++) {
        size += sizes[i];
    }
    return sizes != NULL ? size : 0;
}

static clf_status find_ogg(struct clf__audio_parts *parts, struct bytes *bytes, int64_t at)
{
    int is_under_way = 0;
    while (at < bytes->end) {
        int begins_stream = 0;
        int64_t size = page_size(bytes, at, &begins_stream);
        if (size == 0) {
            at = find(bytes, at + 1, "OggS", 4);
            continue;
        }
        CLF__TRY(begins_stream && is_under_way ? add(parts, at) : CLF_OK);
        is_under_way = !begins_stream;
        at += size;
    }
    return CLF_OK;
}

/* --- MPEG audio: a part begins at a tag or an information frame (Xing, Info, VBRI), or after the number of
 * frames that the information frame declares. --- */

struct frame {
    int64_t size;
    int side;       /* bytes between the header and an information tag */
    uint32_t fixed; /* header bits shared by all frames of a stream */
};

/* Reads the header of the frame at `at`; returns 0 if there is none, or if it has the free bit rate format.
 */
static int read_frame(struct frame *out, struct bytes *bytes, int64_t at)
{
    static const int rates[2][3][15] = {
        {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
         {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
         {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
        {{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}};
    static const int samplings[3] = {44100, 48000, 32000};
    const uint8_t *header = look(bytes, at, 4);
    if (header == NULL || header[0] != 0xff || (header[1] & 0xe0) != 0xe0) {
        return 0;
    }
    int version = header[1] >> 3 & 3, layer = 4 - (header[1] >> 1 & 3); /* version 3: MPEG 1, 2: MPEG 2, 0:
                                                                           MPEG 2.5 */
    int rate = header[2] >> 4, sampling = header[2] >> 2 & 3, padding = header[2] >> 1 & 1;
    if (version == 1 || layer == 4 || rate == 0 || rate == 15 || sampling == 3) {
        return 0;
    }
    int is_first = version == 3, is_mono = header[3] >> 6 == 3;
    int bits = rates[!is_first][layer - 1][rate] * 1000;
    int hertz = samplings[sampling] >> (is_first ? 0 : version == 2 ? 1 : 2);
    out->size = layer == 1 ? (12 * bits / hertz + padding) * 4
                           : (layer == 3 && !is_first ? 72 : 144) * bits / hertz + padding;
    out->side = is_first ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17);
    out->fixed = (uint32_t)(header[1] & 0xfe) << 8 | (header[2] & 0x0c);
    return out->size > 4;
}

static uint32_t read_32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns 1 if a frame holds information instead of sound; *frames is the declared number of sound frames, or
 * -1. */
static int is_information(int64_t *frames, struct bytes *bytes, int64_t at, const struct frame *frame)
{
    const uint8_t *xing = look(bytes, at + 4 + frame->side, 12);
    *frames = -1;
    if (xing != NULL && (memcmp(xing, "Xing", 4) == 0 || memcmp(xing, "Info", 4) == 0)) {
        *frames = xing[7] & 1 ? (int64_t)read_32(xing + 8) : -1;
        return 1;
    }
    const uint8_t *vbri = look(bytes, at + 4 + 32, 18);
    if (vbri != NULL && memcmp(vbri, "VBRI", 4) == 0) {
        *frames = (int64_t)read_32(vbri + 14);
        return 1;
    }
    return 0;
}

/* Returns the size of an ID3v2 tag; 0 if there is none. */
static int64_t tag_size(struct bytes *bytes, int64_t at)
{
    const uint8_t *tag = look(bytes, at, 10);
    if (tag == NULL || memcmp(tag, "ID3", 3) != 0) {
        return 0;
    }
    int64_t size =
        (int64_t)(tag[6] & 127) << 21 | (tag[7] & 127) << 14 | (tag[8] & 127) << 7 | (tag[9] & 127);
    return 10 + size + (tag[5] & 0x10 ? 10 : 0);
}

/* Returns the first frame or tag at or after `at`. A valid frame is followed by another. */
static int64_t find_frame(struct bytes *bytes, int64_t at)
{
    struct frame frame, next;
    const uint8_t *byte;
    for (; (byte = look(bytes, at, 1)) != NULL; at++) {
        if (*byte == 'I' && tag_size(bytes, at) > 0) {
            return at;
        }
        if (*byte == 0xff && read_frame(&frame, bytes, at) && read_frame(&next, bytes, at + frame.size) &&
            next.fixed == frame.fixed) {
            return at;
        }
    }
    return bytes->end;
}

/* The state of the current part. */
struct mpeg_part {
    int64_t frames, declared; /* sound frames so far, and declared sound frames; -1: unknown */
    int64_t tag;              /* start of a tag before the next frame, or -1 */
    int64_t over;             /* start of the first frame after the declared ones */
};

/* Counts the frame at `at`. Some encoders declare a few frames fewer than they write. */
static clf_status take_frame(struct clf__audio_parts *parts, struct mpeg_part *part, struct bytes *bytes,
                             int64_t at, const struct frame *frame)
{
    enum { MOST_UNCOUNTED = 10 };
    int64_t declared;
    int informs = is_information(&declared, bytes, at, frame);
    if (part->frames > 0 && (informs || part->tag >= 0)) {
        CLF__TRY(add(parts, part->tag >= 0 ? part->tag : at));
        part->frames = 0;
        part->declared = -1;
    }
    part->tag = -1;
    if (informs) {
        part->declared = declared > 0 ? declared : -1;
        return CLF_OK;
    }
    part->over = part->frames == part->declared ? at : part->over;
    part->frames++;
    if (part->declared >= 0 && part->frames == part->declared + MOST_UNCOUNTED) {
        CLF__TRY(add(parts, part->over));
        part->frames = MOST_UNCOUNTED;
        part->declared = -1;
    }
    return CLF_OK;
}

static clf_status find_mpeg(struct clf__audio_parts *parts, struct bytes *bytes, int64_t at)
{
    struct mpeg_part part = {.declared = -1, .tag = -1};
    while (at < bytes->end) {
        struct frame frame;
        int64_t size = tag_size(bytes, at);
        if (size > 0) {
            part.tag = part.tag < 0 ? at : part.tag;
            at += size;
        } else if (read_frame(&frame, bytes, at)) {
            CLF__TRY(take_frame(parts, &part, bytes, at, &frame));
            at += frame.size;
        } else {
            at = find_frame(bytes, at + 1);
        }
    }
    return CLF_OK;
}

/* --- FLAC and WAV --- */

static clf_status find_flac(struct clf__audio_parts *parts, struct bytes *bytes, int64_t at)
{
    for (at = find(bytes, at + 1, "fLaC", 4); at < bytes->end; at = find(bytes, at + 1, "fLaC", 4)) {
        const uint8_t *block = look(bytes, at + 4, 4); /* STREAMINFO has 34 bytes */
        if (block != NULL && (block[0] & 127) == 0 && memcmp(block + 1, "\0\0\x22", 3) == 0) {
            CLF__TRY(add(parts, at));
        }
    }
    return CLF_OK;
}

static clf_status find_wav(struct clf__audio_parts *parts, struct bytes *bytes, int64_t at)
{
    const uint8_t *head;
    int64_t start = at;
    while ((head = look(bytes, at, 12)) != NULL && memcmp(head, "RIFF", 4) == 0 &&
           memcmp(head + 8, "WAVE", 4) == 0) {
        CLF__TRY(at > start ? add(parts, at) : CLF_OK);
        int64_t size = clf__read_32(head + 4);
        at += 8 + size + size % 2;
    }
    return CLF_OK;
}

clf_status clf__audio_parts_find(struct clf__audio_parts *out, enum clf__audio_kind kind, int descriptor,
                                 int64_t start, int64_t end)
{
    struct bytes bytes = {.descriptor = descriptor, .end = end, .first = start};
    *out = (struct clf__audio_parts){.count = 0};
    CLF__TRY(clf__allocate(&bytes.window, WINDOW, 1));
    clf_status status = add(out, start);
    if (status == CLF_OK && kind != CLF__AUDIO_OTHER) {
        status = kind == CLF__AUDIO_OGG    ? find_ogg(out, &bytes, start)
                 : kind == CLF__AUDIO_MPEG ? find_mpeg(out, &bytes, start)
                 : kind == CLF__AUDIO_FLAC ? find_flac(out, &bytes, start)
                                           : find_wav(out, &bytes, start);
    }
    if (status == CLF_OK) {
        status = add(out, end);
        out->count--;
    }
    clf__free(bytes.window);
    if (status != CLF_OK) {
        clf__audio_parts_free(out);
    }
    return status;
}

void clf__audio_parts_free(struct clf__audio_parts *parts)
{
    clf__free(parts->starts);
    *parts = (struct clf__audio_parts){.count = 0};
}
