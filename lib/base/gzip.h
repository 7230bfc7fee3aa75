/* Decompresses gzip files (RFC 1952) with zlib. */
#ifndef CLF_BASE_GZIP_H
#define CLF_BASE_GZIP_H

#include <stddef.h>

#include "base/status.h"

/* Returns whether a file starts with the magic bytes of gzip. */
int clf__gzip_is(const char *bytes, size_t size);

/* Decompresses all members, to at most max_bytes bytes, and appends a NUL, which is not counted in *size.
 * The caller frees *out. Returns CLF_FORMAT for damaged or larger files, CLF_UNSUPPORTED without zlib. */
clf_status clf__gzip_unpack(char **out, size_t *size, const char *bytes, size_t packed, const char *path,
                            size_t max_bytes);

#endif
