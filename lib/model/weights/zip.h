/* Files in a zip archive: positions of their data and, if zlib is available, decompression. torch.save()
 * writes archives without compression. */
#ifndef CLF_WEIGHTS_ZIP_H
#define CLF_WEIGHTS_ZIP_H

#include "base/file.h"

enum { CLF__ZIP_STORED = 0, CLF__ZIP_DEFLATED = 8 }; /* compression methods */

struct clf__zip_entry {
    const char *name;     /* name in the archive, NUL-terminated */
    uint64_t offset;      /* offset of the data in the archive */
    uint64_t stored_size; /* size of the data in the archive */
    uint64_t size;        /* size after decompression, according to the archive */
    uint32_t checksum;    /* CRC-32 of the decompressed data */
    int method, is_encrypted;
    uint32_t mode; /* st_mode of Unix, or 0 */
};

struct clf__zip {
    uint8_t *directory;             /* owns the names */
    struct clf__zip_entry *entries; /* sorted by name */
    int count;
};

/* Reads the central directory, including ZIP64. Returns CLF_FORMAT with the file's name for archives on
 * several disks and positions outside the file; also for encrypted or compressed files unless they are
 * allowed. */
clf_status clf__zip_open(struct clf__zip *out, const struct clf__file *file);
clf_status clf__zip_open_any(struct clf__zip *out, const struct clf__file *file);
void clf__zip_close(struct clf__zip *zip);

/* Returns NULL if there is no such file. */
const struct clf__zip_entry *clf__zip_find(const struct clf__zip *zip, const char *name);

/* Returns 1 if the library was built with zlib. */
int clf__zip_can_unpack(void);
/* Decompresses a file of the archive and passes the data to `take` in order. Returns CLF_FORMAT for a wrong
 * size or checksum; `take` never gets more bytes than the archive declares. Returns CLF_UNSUPPORTED without
 * zlib, for other methods, and for encrypted files. */
clf_status clf__zip_each_piece(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_piece *take, void *user);

#endif
