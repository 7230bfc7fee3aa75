/* Files that gzip compressed (RFC 1952), by zlib. */
#ifndef CLF_BASE_GZIP_H
#define CLF_BASE_GZIP_H

#include <stddef.h>

#include "base/status.h"

/* Whether a file's first bytes are those of what gzip compressed. */
int clf__gzip_is(const char *bytes, size_t size);

/* Unpacks it all, one member after another, to at most max_bytes, NUL-terminated beyond *size; the caller
 * frees *out. What is damaged, and what is longer, is CLF_FORMAT with the path; CLF_UNSUPPORTED without zlib.
 */
clf_status clf__gzip_unpack(char **out, size_t *size, const char *bytes, size_t packed, const char *path,
                            size_t max_bytes);

#endif
