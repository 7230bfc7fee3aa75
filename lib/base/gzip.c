#include "base/gzip.h"

#include <stdint.h>

#include "base/memory.h"
#include "base/minmax.h"

int clf__gzip_is(const char *bytes, size_t size)
{
    return size >= 2 && (uint8_t)bytes[0] == 0x1F && (uint8_t)bytes[1] == 0x8B;
}

#ifdef CLF_HAS_ZLIB

#include <zlib.h>

enum { FIRST_ROOM = 1 << 16, MOST_BLOCK = 1 << 30 };

struct unpacked {
    char *bytes;
    size_t used, room, most;
};

static clf_status damaged(const char *path, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: is damaged (the gzip data %s); download it again", path, what);
}

/* Reserves at least one more byte. */
static clf_status make_room(struct unpacked *out, const char *path)
{
    if (out->used < out->room) {
        return CLF_OK;
    }
    if (out->room == out->most) {
        return clf__fail(CLF_FORMAT, "%s: decompresses to more than the limit of %zu bytes for such files",
                         path, out->most);
    }
    size_t room = clf__min_size(out->room < FIRST_ROOM ? FIRST_ROOM : 2 * out->room, out->most);
    CLF__TRY(clf__resize(&out->bytes, room + 1, 1));
    out->room = room;
    return CLF_OK;
}

/* Calls inflate() once, for the remaining input and the free output space. */
static clf_status inflate_some(struct unpacked *out, int *result, z_stream *stream, const char *path)
{
    CLF__TRY(make_room(out, path));
    uInt room = (uInt)clf__min_size(out->room - out->used, MOST_BLOCK);
    stream->next_out = (Bytef *)out->bytes + out->used;
    stream->avail_out = room;
    *result = inflate(stream, Z_NO_FLUSH);
    out->used += room - stream->avail_out;
    if (*result == Z_MEM_ERROR) {
        return clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory to decompress it", path);
    }
    if (*result == Z_OK && stream->avail_in == 0 && stream->avail_out > 0) {
        return damaged(path, "is cut off");
    }
    return *result == Z_OK || *result == Z_STREAM_END ? CLF_OK : damaged(path, "cannot be unpacked");
}

static clf_status inflate_all(struct unpacked *out, z_stream *stream, const char *path)
{
    int result = Z_OK;
    while (result == Z_OK || stream->avail_in > 0) {
        if (result == Z_STREAM_END && inflateReset(stream) != Z_OK) { /* the next member */
            return damaged(path, "cannot be unpacked");
        }
        CLF__TRY(inflate_some(out, &result, stream, path));
    }
    return make_room(out, path);
}

clf_status clf__gzip_unpack(char **out, size_t *size, const char *bytes, size_t packed, const char *path,
                            size_t max_bytes)
{
    enum { GZIP = 16 }; /* added to the window bits: gzip header and trailer */
    struct unpacked unpacked = {.most = max_bytes};
    z_stream stream = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)packed};
    *out = NULL;
    if (packed > MOST_BLOCK) {
        return clf__fail(CLF_FORMAT, "%s: has %zu bytes, too many to decompress; decompress it with gunzip",
                         path, packed);
    }
    if (inflateInit2(&stream, MAX_WBITS + GZIP) != Z_OK) {
        return clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory to decompress it", path);
    }
    clf_status status = inflate_all(&unpacked, &stream, path);
    inflateEnd(&stream);
    if (status != CLF_OK) {
        clf__free(unpacked.bytes);
        return status;
    }
    unpacked.bytes[unpacked.used] = '\0';
    *out = unpacked.bytes;
    *size = unpacked.used;
    return CLF_OK;
}

#else

clf_status clf__gzip_unpack(char **out, size_t *size, const char *bytes, size_t packed, const char *path,
                            size_t max_bytes)
{
    (void)bytes, (void)packed, (void)max_bytes;
    *out = NULL;
    *size = 0;
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: is compressed, but clformer was built without zlib; decompress it with gunzip",
                     path);
}

#endif
