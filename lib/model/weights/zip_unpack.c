/* Decompresses zip archives with zlib. */
#include "base/memory.h"
#include "model/weights/zip.h"

#ifdef CLF_HAS_ZLIB

#include <string.h>

#include <zlib.h>

enum { BLOCK = 1 << 16 };

struct unpacking {
    const struct clf__file *file;
    const struct clf__zip_entry *entry;
    clf__file_block *take;
    void *user;
    uint64_t read, given; /* bytes read from the archive; bytes passed on */
    uLong checksum;
    z_stream stream;
    uint8_t in[BLOCK], out[BLOCK];
};

static clf_status damaged(const struct unpacking *unpacking, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: damaged (\"%.200s\" in the archive %s); download the file again",
                     unpacking->file->path, unpacking->entry->name, what);
}

/* Reads the next block of compressed bytes; sets *size to 0 at the end. */
static clf_status read_block(size_t *size, struct unpacking *unpacking)
{
    uint64_t left = unpacking->entry->stored_size - unpacking->read;
    *size = left < BLOCK ? (size_t)left : BLOCK;
    CLF__TRY(
        clf__file_read_at(unpacking->file, unpacking->entry->offset + unpacking->read, unpacking->in, *size));
    unpacking->read += *size;
    return CLF_OK;
}

static clf_status give(struct unpacking *unpacking, const uint8_t *bytes, size_t size)
{
    if (size > unpacking->entry->size - unpacking->given) {
        return damaged(unpacking, "is longer than declared");
    }
    unpacking->given += size;
    unpacking->checksum = crc32(unpacking->checksum, bytes, (uInt)size);
    return size > 0 ? unpacking->take(unpacking->user, bytes, size) : CLF_OK;
}

static clf_status copy(struct unpacking *unpacking)
{
    size_t size;
    do {
        CLF__TRY(read_block(&size, unpacking));
        CLF__TRY(give(unpacking, unpacking->in, size));
    } while (size > 0);
    return CLF_OK;
}

/* Decompresses the block until *result is not Z_OK. */
static clf_status inflate_block(int *result, struct unpacking *unpacking)
{
    z_stream *stream = &unpacking->stream;
    do {
        stream->next_out = unpacking->out;
        stream->avail_out = BLOCK;
        *result = inflate(stream, Z_NO_FLUSH);
        CLF__TRY(give(unpacking, unpacking->out, BLOCK - stream->avail_out));
    } while (*result == Z_OK && stream->avail_out == 0);
    *result = *result == Z_BUF_ERROR ? Z_OK : *result; /* zlib needs the next block */
    return CLF_OK;
}

static clf_status inflate_all(struct unpacking *unpacking)
{
    int result = Z_OK;
    z_stream *stream = &unpacking->stream;
    while (result == Z_OK) {
        size_t size;
        CLF__TRY(read_block(&size, unpacking));
        if (size == 0) {
            return damaged(unpacking, "is truncated");
        }
        stream->next_in = unpacking->in;
        stream->avail_in = (uInt)size;
        CLF__TRY(inflate_block(&result, unpacking));
    }
    if (result == Z_MEM_ERROR) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to unpack %s", unpacking->file->path);
    }
    int is_all = stream->avail_in == 0 && unpacking->read == unpacking->entry->stored_size;
    return result == Z_STREAM_END && is_all ? CLF_OK : damaged(unpacking, "cannot be decompressed");
}

static clf_status unpack(struct unpacking *unpacking)
{
    if (unpacking->entry->method == CLF__ZIP_STORED) {
        return copy(unpacking);
    }
    if (inflateInit2(&unpacking->stream, -MAX_WBITS) != Z_OK) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to unpack %s", unpacking->file->path);
    }
    clf_status status = inflate_all(unpacking);
    inflateEnd(&unpacking->stream);
    return status;
}

int clf__zip_can_unpack(void)
{
    return 1;
}

clf_status clf__zip_each_block(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_block *take, void *user)
{
    if (entry->is_encrypted || (entry->method != CLF__ZIP_STORED && entry->method != CLF__ZIP_DEFLATED)) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: \"%.200s\" in the archive is %s; unpack the archive and use the folder in it",
                         file->path, entry->name,
                         entry->is_encrypted ? "encrypted" : "compressed with a method other than DEFLATE");
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
        status = damaged(unpacking, "is shorter than declared");
    } else if (status == CLF_OK && unpacking->checksum != entry->checksum) {
        status = damaged(unpacking, "has the wrong checksum");
    }
    clf__free(unpacking);
    return status;
}

#else

int clf__zip_can_unpack(void)
{
    return 0;
}

clf_status clf__zip_each_block(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_block *take, void *user)
{
    (void)entry;
    (void)take;
    (void)user;
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: a compressed archive, but clformer was built without zlib; unpack it (`unzip`) and "
                     "use the folder in it",
                     file->path);
}

#endif
