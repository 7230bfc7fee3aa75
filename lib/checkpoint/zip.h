/* The files in a zip archive that are stored as they are: where their bytes lie. torch.save() writes such
 * archives. */
#ifndef CLF_CHECKPOINT_ZIP_H
#define CLF_CHECKPOINT_ZIP_H

#include "base/file.h"

struct clf__zip_entry {
    const char *name; /* as in the archive; NUL-terminated */
    uint64_t offset;  /* of its bytes in the file */
    uint64_t size;
};

struct clf__zip {
    uint8_t *directory;             /* owns the names */
    struct clf__zip_entry *entries; /* sorted by name */
    int count;
};

/* Reads the central directory, ZIP64's too. What is encrypted, compressed or split over several disks, and a
 * position outside the file, is CLF_FORMAT with the file's name. */
clf_status clf__zip_open(struct clf__zip *out, const struct clf__file *file);
void clf__zip_close(struct clf__zip *zip);

/* NULL where there is none. */
const struct clf__zip_entry *clf__zip_find(const struct clf__zip *zip, const char *name);

#endif
