/* Base64 (RFC 4648, section 4). */
#ifndef CLF_BASE_BASE64_H
#define CLF_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Encodes bytes as base64 text; the caller frees *out. */
clf_status clf__base64_encode(char **out, const uint8_t *bytes, size_t size);
/* Decodes base64 text; `out` has space for `length` bytes. Returns nonzero if the text, including its
 * padding bits, is valid. */
int clf__base64_decode(uint8_t *out, size_t *size, const char *text, size_t length);

#endif
