/* Files compressed by gzip (RFC 1952), read by zlib. */
#ifndef CLF_BASE_GZIP_H
#define CLF_BASE_GZIP_H

#include <stddef.h>

#include "base/status.h"

/* Returns whether a file starts with the magic bytes of gzip. */
int clf__gzip_is(const char *bytes, size_t size);

/* Unpacks all members, to at most max_bytes, NUL-terminated beyond *size; the caller frees *out. Damaged
 * or longer files are CLF_FORMAT with the path; CLF_UNSUPPORTED without zlib. */
clf_status clf__gzip_unpack(char **out, size_t *size, const char *bytes, size_t packed, const char *path,
                            size_t max_bytes);

#endif
