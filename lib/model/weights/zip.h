/* Entries of a zip archive: the positions of their data and, with zlib, decompression. torch.save() does not
 * compress its archives. */
#ifndef CLF_WEIGHTS_ZIP_H
#define CLF_WEIGHTS_ZIP_H

#include "base/file.h"

enum { CLF__ZIP_STORED = 0, CLF__ZIP_DEFLATED = 8 }; /* compression methods */

struct clf__zip_entry {
    const char *name;     /* NUL-terminated */
    uint64_t offset;      /* file offset of the data */
    uint64_t stored_size; /* size of the data in the file */
    uint64_t size;        /* size after decompression, as declared */
    uint32_t checksum;    /* CRC-32 of the decompressed data */
    int method, is_encrypted;
    uint32_t mode; /* Unix st_mode, or 0 */
};

struct clf__zip {
    uint8_t *directory;             /* owns the names */
    struct clf__zip_entry *entries; /* sorted by name */
    int count;
};

/* Reads the central directory, including ZIP64. Both functions return CLF_FORMAT for multi-part archives and
 * positions outside the file, clf__zip_open() also for compressed or encrypted entries. */
clf_status clf__zip_open(struct clf__zip *out, const struct clf__file *file);
clf_status clf__zip_open_any(struct clf__zip *out, const struct clf__file *file);
void clf__zip_close(struct clf__zip *zip);

/* Returns NULL if there is no such entry. */
const struct clf__zip_entry *clf__zip_find(const struct clf__zip *zip, const char *name);

/* Returns 1 if the library was built with zlib. */
int clf__zip_can_unpack(void);
/* Decompresses an entry and passes the data to `take` in order, never more than the archive declares. Returns
 * CLF_FORMAT for a wrong size or checksum, CLF_UNSUPPORTED in a build without zlib, for other compression
 * methods and for encrypted entries. */
clf_status clf__zip_each_block(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_block *take, void *user);

#endif
