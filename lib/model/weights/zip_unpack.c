/* Decompresses files of a zip archive with zlib. */
#include "base/memory.h"
#include "model/weights/zip.h"

#ifdef CLF_HAS_ZLIB

#include <string.h>

#include <zlib.h>

enum { PIECE = 1 << 16 };

struct unpacking {
    const struct clf__file *file;
    const struct clf__zip_entry *entry;
    clf__file_piece *take;
    void *user;
    uint64_t read, given; /* number of bytes read from the archive, and passed on */
    uLong checksum;
    z_stream stream;
    uint8_t in[PIECE], out[PIECE];
};

static clf_status damaged(const struct unpacking *unpacking, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: is damaged (\"%.200s\" in it %s); download it again",
                     unpacking->file->path, unpacking->entry->name, what);
}

/* Reads the next bytes of the archive; *size is 0 at the end. */
static clf_status read_piece(size_t *size, struct unpacking *unpacking)
{
    uint64_t left = unpacking->entry->stored_size - unpacking->read;
    *size = left < PIECE ? (size_t)left : PIECE;
    CLF__TRY(
        clf__file_read_at(unpacking->file, unpacking->entry->offset + unpacking->read, unpacking->in, *size));
    unpacking->read += *size;
    return CLF_OK;
}

static clf_status give(struct unpacking *unpacking, const uint8_t *bytes, size_t size)
{
    if (size > unpacking->entry->size - unpacking->given) {
        return damaged(unpacking, "is longer than it says");
    }
    unpacking->given += size;
    unpacking->checksum = crc32(unpacking->checksum, bytes, (uInt)size);
    return size > 0 ? unpacking->take(unpacking->user, bytes, size) : CLF_OK;
}

static clf_status copy(struct unpacking *unpacking)
{
    size_t size;
    do {
        CLF__TRY(read_piece(&size, unpacking));
        CLF__TRY(give(unpacking, unpacking->in, size));
    } while (size > 0);
    return CLF_OK;
}

/* Decompresses the bytes read so far, until *result is not Z_OK. */
static clf_status inflate_piece(int *result, struct unpacking *unpacking)
{
    z_stream *stream = &unpacking->stream;
    do {
        stream->next_out = unpacking->out;
        stream->avail_out = PIECE;
        *result = inflate(stream, Z_NO_FLUSH);
        CLF__TRY(give(unpacking, unpacking->out, PIECE - stream->avail_out));
    } while (*result == Z_OK && stream->avail_out == 0);
    *result = *result == Z_BUF_ERROR ? Z_OK : *result; /* zlib needs the next bytes */
    return CLF_OK;
}

static clf_status inflate_all(struct unpacking *unpacking)
{
    int result = Z_OK;
    z_stream *stream = &unpacking->stream;
    while (result == Z_OK) {
        size_t size;
        CLF__TRY(read_piece(&size, unpacking));
        if (size == 0) {
            return damaged(unpacking, "is cut off");
        }
        stream->next_in = unpacking->in;
        stream->avail_in = (uInt)size;
        CLF__TRY(inflate_piece(&result, unpacking));
    }
    if (result == Z_MEM_ERROR) {
        return clf__fail(CLF_OUT_OF_MEMORY, "%s: there is no memory to unpack it", unpacking->file->path);
    }
    int is_all = stream->avail_in == 0 && unpacking->read == unpacking->entry->stored_size;
    return result == Z_STREAM_END && is_all ? CLF_OK : damaged(unpacking, "cannot be unpacked");
}

static clf_status unpack(struct unpacking *unpacking)
{
    if (unpacking->entry->method == CLF__ZIP_STORED) {
        return copy(unpacking);
    }
    if (inflateInit2(&unpacking->stream, -MAX_WBITS) != Z_OK) {
        return clf__fail(CLF_OUT_OF_MEMORY, "%s: there is no memory to unpack it", unpacking->file->path);
    }
    clf_status status = inflate_all(unpacking);
    inflateEnd(&unpacking->stream);
    return status;
}

int clf__zip_can_unpack(void)
{
    return 1;
}

clf_status clf__zip_each_piece(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_piece *take, void *user)
{
    if (entry->is_encrypted || (entry->method != CLF__ZIP_STORED && entry->method != CLF__ZIP_DEFLATED)) {
        return clf__fail(CLF_UNSUPPORTED, "%s: \"%.200s\" in it is %s; unpack it and give the folder in it",
                         file->path, entry->name,
                         entry->is_encrypted ? "encrypted" : "compressed by another method than DEFLATE");
    }
    struct unpacking *unpacking;
    CLF__TRY(clf__allocate(&unpacking, 1, sizeof *unpacking));
    unpacking->file = file;
    unpacking->entry = entry;
    unpacking->take = take;
    unpacking->user = user;
    unpacking->checksum = crc32(0, NULL, 0);
    clf_status status = unpack(unpacking);
    if (status == CLF_OK && unpacking->given != entry->size) {
        status = damaged(unpacking, "is shorter than it says");
    } else if (status == CLF_OK && unpacking->checksum != entry->checksum) {
        status = damaged(unpacking, "has another checksum");
    }
    clf__free(unpacking);
    return status;
}

#else

int clf__zip_can_unpack(void)
{
    return 0;
}

clf_status clf__zip_each_piece(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_piece *take, void *user)
{
    (void)entry;
    (void)take;
    (void)user;
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: is compressed, and clformer was built without zlib; unpack it (`unzip`) and give "
                     "the folder in it",
                     file->path);
}

#endif
