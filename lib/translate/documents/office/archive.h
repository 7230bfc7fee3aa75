/* Zip archives in memory, read and written by libzip. Nothing is extracted to files: names of entries are
 * only compared. Archives are untrusted: entries, sizes and the ratio of compression are limited. */
#ifndef CLF_DOCUMENTS_ARCHIVE_H
#define CLF_DOCUMENTS_ARCHIVE_H

#include <stddef.h>

#include "base/status.h"
#include "translate/documents/output.h"

enum {
    CLF__ARCHIVE_MOST_ENTRIES = 20000,
    CLF__ARCHIVE_MOST_RATIO = 200, /* of the sizes of an entry of more than CLF__ARCHIVE_FREE_BYTES */
    CLF__ARCHIVE_FREE_BYTES = 1 << 20,
};

struct clf__archive;

/* Opens an archive.
 *
 * @param bytes (size) copied.
 * @return CLF_FORMAT for damaged or encrypted archives; CLF_UNSUPPORTED for too many entries. */
clf_status clf__archive_open(struct clf__archive **out, const char *bytes, size_t size);
void clf__archive_close(struct clf__archive *zip);

int clf__archive_has(const struct clf__archive *zip, const char *name);
/* Adds the content of an entry to an output.
 *
 * @return CLF_FORMAT if the entry is missing, encrypted or damaged; CLF_UNSUPPORTED if it exceeds a limit. */
clf_status clf__archive_read(struct clf__output *out, struct clf__archive *zip, const char *name);

/* A new content of an entry. */
struct clf__archive_change {
    const char *name;
    const char *bytes; /* (size) */
    size_t size;
};
/* Writes an archive with changed entries. The order of entries, their times and methods of compression, and
 * the compressed bytes of all other entries are unchanged. */
clf_status clf__archive_rewrite(struct clf__output *out, const char *bytes, size_t size,
                                const struct clf__archive_change *changes, int count);

#endif
