/* Base64 (RFC 4648, section 4). */
#ifndef CLF_BASE_BASE64_H
#define CLF_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The caller frees *out. */
clf_status clf__base64_encode(char **out, const uint8_t *bytes, size_t size);
/* The bytes of a text; `out` has room for as many as the text has. 0: it is not base64, to the last bit. */
int clf__base64_decode(uint8_t *out, size_t *size, const char *text, size_t length);

#endif
