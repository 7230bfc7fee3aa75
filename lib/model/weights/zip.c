/* Reads zip archives (sections 4.3.7, 4.3.12 and 4.3.14 to 4.3.16 of PKWARE's APPNOTE.TXT 6.3.10). */
#include "model/weights/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/little_endian.h"
#include "base/memory.h"

enum {
    LOCAL_SIGNATURE = 0x04034b50,
    LOCAL_BYTES = 30,
    ENTRY_SIGNATURE = 0x02014b50,
    ENTRY_BYTES = 46,
    END_SIGNATURE = 0x06054b50,
    END_BYTES = 22,
    MAX_COMMENT = 65535,
    END64_SIGNATURE = 0x06064b50,
    END64_BYTES = 56,
    LOCATOR_SIGNATURE = 0x07064b50,
    LOCATOR_BYTES = 20,
    EXTRA_ZIP64 = 1,
    MADE_ON_UNIX = 3,
    MAX_ENTRIES = 1 << 20,
    MAX_DIRECTORY = 1 << 28,
};
static const uint32_t is_in_extra =
    0xFFFFFFFF; /* a 32-bit field with this value is stored in the ZIP64 record */

struct directory {
    uint64_t offset, size, count;
};

static clf_status damaged(const struct clf__file *file, const char *where)
{
    return clf__fail(CLF_FORMAT, "%s: not a zip archive, or damaged (%s); download the file again",
                     file->path, where);
}

/* Finds the end record. A comment of unknown length may follow it. */
static clf_status find_end(uint64_t *out, uint8_t record[END_BYTES], const struct clf__file *file)
{
    uint64_t most = END_BYTES + MAX_COMMENT, size = file->size < most ? file->size : most;
    if (size < END_BYTES) {
        return damaged(file, "too few bytes");
    }
    uint8_t *tail = NULL;
    CLF__TRY(clf__allocate(&tail, (size_t)size, 1));
    clf_status status = clf__file_read_at(file, file->size - size, tail, (size_t)size);
    uint64_t at = size - END_BYTES;
    while (status == CLF_OK && at > 0 && clf__read_32(tail + at) != END_SIGNATURE) {
        at--;
    }
    if (status == CLF_OK && clf__read_32(tail + at) != END_SIGNATURE) {
        status = damaged(file, "no end record");
    }
    if (status == CLF_OK) {
        memcpy(record, tail + at, END_BYTES);
        *out = file->size - size + at;
    }
    clf__free(tail);
    return status;
}

static clf_status read_end64(struct directory *out, const struct clf__file *file, uint64_t end)
{
    uint8_t locator[LOCATOR_BYTES] = {0}, record[END64_BYTES] = {0};
    if (end < LOCATOR_BYTES) {
        return damaged(file, "no ZIP64 record");
    }
    CLF__TRY(clf__file_read_at(file, end - LOCATOR_BYTES, locator, sizeof locator));
    uint64_t at = clf__read_64(locator + 8);
    if (clf__read_32(locator) != LOCATOR_SIGNATURE || at > end || end - at < END64_BYTES) {
        return damaged(file, "the ZIP64 record is not at its declared position");
    }
    CLF__TRY(clf__file_read_at(file, at, record, sizeof record));
    if (clf__read_32(record) != END64_SIGNATURE) {
        return damaged(file, "no ZIP64 record");
    }
    *out = (struct directory){.offset = clf__read_64(record + 48),
                              .size = clf__read_64(record + 40),
                              .count = clf__read_64(record + 32)};
    return CLF_OK;
}

static clf_status find_directory(struct directory *out, const struct clf__file *file)
{
    uint8_t record[END_BYTES] = {0};
    uint64_t end = 0;
    CLF__TRY(find_end(&end, record, file));
    *out = (struct directory){.offset = clf__read_32(record + 16),
                              .size = clf__read_32(record + 12),
                              .count = clf__read_16(record + 10)};
    if (out->offset == is_in_extra || out->size == is_in_extra || out->count == 0xFFFF) {
        CLF__TRY(read_end64(out, file, end));
    }
    if (out->count > MAX_ENTRIES || out->size > MAX_DIRECTORY) {
        return damaged(file, "too many entries");
    }
    if (out->offset > end || out->size > end - out->offset) {
        return damaged(file, "the central directory is outside the archive");
    }
    return CLF_OK;
}

/* Reads the values of marked 32-bit fields from the ZIP64 field, in order. */
static int read_extra(uint64_t *values[], int count, const uint8_t *extra, size_t size)
{
    while (size >= 4) {
        uint32_t id = clf__read_16(extra), bytes = clf__read_16(extra + 2);
        if (bytes > size - 4) {
            return 0;
        }
        for (uint32_t at = 0; id == EXTRA_ZIP64 && count > 0; at += 8, values++, count--) {
            if (at + 8 > bytes) {
                return 0;
            }
            **values = clf__read_64(extra + 4 + at);
        }
        extra += 4 + bytes;
        size -= 4 + bytes;
    }
    return count == 0;
}

/* Finds the data of an entry after its local header, whose name and extra field may have other lengths than
 * in the central directory. */
static clf_status find_bytes(struct clf__zip_entry *entry, const struct clf__file *file, uint64_t local)
{
    uint8_t header[LOCAL_BYTES] = {0};
    if (local > file->size || file->size - local < LOCAL_BYTES) {
        return damaged(file, "the data of an entry is outside the archive");
    }
    CLF__TRY(clf__file_read_at(file, local, header, sizeof header));
    if (clf__read_32(header) != LOCAL_SIGNATURE) {
        return damaged(file, "an entry has no local header");
    }
    entry->offset = local + LOCAL_BYTES + clf__read_16(header + 26) + clf__read_16(header + 28);
    if (entry->offset > file->size || entry->stored_size > file->size - entry->offset) {
        return damaged(file, "the data of an entry is truncated");
    }
    return CLF_OK;
}

/* Reads the central directory record at *at and advances *at. entry->name is not NUL-terminated yet, because
 * the next record's signature follows it directly. */
static clf_status read_entry(struct clf__zip_entry *entry, size_t *name_length, const struct clf__file *file,
                             uint8_t *bytes, size_t size, size_t *at)
{
    const uint8_t *record = bytes + *at;
    if (size - *at < ENTRY_BYTES || clf__read_32(record) != ENTRY_SIGNATURE) {
        return damaged(file, "the central directory is truncated");
    }
    size_t name = clf__read_16(record + 28), extra = clf__read_16(record + 30),
           comment = clf__read_16(record + 32);
    if (name + extra + comment > size - *at - ENTRY_BYTES) {
        return damaged(file, "the central directory is truncated");
    }
    uint64_t local = clf__read_32(record + 42);
    *entry = (struct clf__zip_entry){.name = (const char *)record + ENTRY_BYTES,
                                     .size = clf__read_32(record + 24),
                                     .stored_size = clf__read_32(record + 20),
                                     .method = clf__read_16(record + 10),
                                     .checksum = clf__read_32(record + 16),
                                     .is_encrypted = (clf__read_16(record + 8) & 1) != 0,
                                     .mode = record[5] == MADE_ON_UNIX ? clf__read_16(record + 40) : 0};
    uint64_t *large[3];
    int count = 0;
    uint64_t *const fields[] = {&entry->size, &entry->stored_size, &local};
    for (int i = 0; i < 3; i++) {
        if (*fields[i] == is_in_extra) {
            large[count++] = fields[i];
        }
    }
    if (!read_extra(large, count, record + ENTRY_BYTES + name, extra) && count > 0) {
        return damaged(file, "the size of an entry is missing");
    }
    if (entry->method == CLF__ZIP_STORED && !entry->is_encrypted && entry->stored_size != entry->size) {
        return damaged(file, "the two sizes of an uncompressed entry differ");
    }
    *name_length = name;
    *at += ENTRY_BYTES + name + extra + comment;
    return find_bytes(entry, file, local);
}

static int by_name(const void *left, const void *right)
{
    const struct clf__zip_entry *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static clf_status read_entries(struct clf__zip *zip, const struct clf__file *file, size_t size,
                               uint64_t count)
{
    size_t at = 0;
    char *last_end = NULL; /* end of the previous name, NUL-terminated after the next record has been read */
    for (uint64_t i = 0; i < count; i++) {
        struct clf__zip_entry *entry = &zip->entries[zip->count];
        size_t length = 0;
        CLF__TRY(read_entry(entry, &length, file, zip->directory, size, &at));
        if (last_end != NULL) {
            *last_end = '\0';
        }
        last_end = (char *)entry->name + length;
        if (memchr(entry->name, '\0', length) != NULL) {
            return damaged(file, "the name of an entry contains a NUL byte");
        }
        zip->count++;
    }
    if (last_end != NULL) { /* the buffer has one more byte than the directory */
        *last_end = '\0';
    }
    qsort(zip->entries, (size_t)zip->count, sizeof *zip->entries, by_name);
    for (int i = 1; i < zip->count; i++) {
        if (strcmp(zip->entries[i - 1].name, zip->entries[i].name) == 0) {
            return damaged(file, "two entries have the same name");
        }
    }
    return CLF_OK;
}

clf_status clf__zip_open_any(struct clf__zip *out, const struct clf__file *file)
{
    struct directory directory;
    *out = (struct clf__zip){0};
    CLF__TRY(find_directory(&directory, file));
    struct clf__zip zip = {0};
    size_t size = (size_t)directory.size;
    clf_status status = clf__allocate(&zip.directory, size + 1, 1);
    if (status == CLF_OK) {
        status = clf__file_read_at(file, directory.offset, zip.directory, size);
    }
    if (status == CLF_OK && directory.count > size / ENTRY_BYTES) {
        status = damaged(file, "the central directory is truncated");
    }
    if (status == CLF_OK) {
        status = clf__allocate(&zip.entries, (size_t)directory.count, sizeof *zip.entries);
    }
    if (status == CLF_OK) {
        status = read_entries(&zip, file, size, directory.count);
    }
    if (status != CLF_OK) {
        clf__zip_close(&zip);
        return status;
    }
    *out = zip;
    return CLF_OK;
}

clf_status clf__zip_open(struct clf__zip *out, const struct clf__file *file)
{
    CLF__TRY(clf__zip_open_any(out, file));
    for (int i = 0; i < out->count; i++) {
        const struct clf__zip_entry *entry = &out->entries[i];
        if (entry->is_encrypted || entry->method != CLF__ZIP_STORED) {
            const char *what = entry->is_encrypted ? "encrypted" : "compressed";
            int is_numpy = clf__ends_with(file->path, ".npz");
            clf__zip_close(out);
            return is_numpy
                       ? clf__fail(
                             CLF_FORMAT,
                             "%s: the archive contains %s files; save it without compression: python3 -c "
                             "'import sys, numpy; numpy.savez(sys.argv[1], **numpy.load(sys.argv[1]))' '%s'",
                             file->path, what, file->path)
                       : clf__fail(CLF_FORMAT,
                                   "%s: the archive contains %s files; load it with torch and save it as "
                                   "safetensors",
                                   file->path, what);
        }
    }
    return CLF_OK;
}

void clf__zip_close(struct clf__zip *zip)
{
    clf__free(zip->directory);
    clf__free(zip->entries);
    *zip = (struct clf__zip){0};
}

const struct clf__zip_entry *clf__zip_find(const struct clf__zip *zip, const char *name)
{
    struct clf__zip_entry wanted = {.name = name};
    return bsearch(&wanted, zip->entries, (size_t)zip->count, sizeof wanted, by_name);
}
