/* The files in a zip archive: where their bytes lie, and, where zlib is, what they are once unpacked.
 * torch.save() writes such archives, with nothing compressed. */
#ifndef CLF_CHECKPOINT_ZIP_H
#define CLF_CHECKPOINT_ZIP_H

#include "base/file.h"

enum { CLF__ZIP_STORED = 0, CLF__ZIP_DEFLATED = 8 }; /* methods */

struct clf__zip_entry {
    const char *name;     /* as in the archive; NUL-terminated */
    uint64_t offset;      /* of its bytes in the file */
    uint64_t stored_size; /* of these */
    uint64_t size;        /* once they are unpacked, as the archive says */
    uint32_t checksum;    /* CRC-32 of what is unpacked */
    int method, is_encrypted;
    uint32_t mode; /* st_mode of Unix, or 0 */
};

struct clf__zip {
    uint8_t *directory;             /* owns the names */
    struct clf__zip_entry *entries; /* sorted by name */
    int count;
};

/* Reads the central directory, ZIP64's too. What is split over several disks, and a position outside the
 * file, is CLF_FORMAT with the file's name; so is, unless it is any archive that is opened, what is encrypted
 * or compressed. */
clf_status clf__zip_open(struct clf__zip *out, const struct clf__file *file);
clf_status clf__zip_open_any(struct clf__zip *out, const struct clf__file *file);
void clf__zip_close(struct clf__zip *zip);

/* NULL where there is none. */
const struct clf__zip_entry *clf__zip_find(const struct clf__zip *zip, const char *name);

/* Whether this library was built with zlib. */
int clf__zip_can_unpack(void);
/* Gives a file of the archive to `take`, in order. One that is not as long as the archive says, or has
 * another checksum, is CLF_FORMAT, and `take` has never had more bytes than that. CLF_UNSUPPORTED without
 * zlib, for other methods, and for what is encrypted. */
clf_status clf__zip_each_piece(const struct clf__file *file, const struct clf__zip_entry *entry,
                               clf__file_piece *take, void *user);

#endif
