/* Base64 (RFC 4648, section 4). */
#ifndef CLF_BASE_BASE64_H
#define CLF_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The caller frees *out. */
clf_status clf__base64_encode(char **out, const uint8_t *bytes, size_t size);
/* Decodes a text; `out` has as many bytes as the text. Returns the size, or 0 if the text is not valid
 * base64, including its padding bits. */
int clf__base64_decode(uint8_t *out, size_t *size, const char *text, size_t length);

#endif
