/* Functions shared by the byte-level tokenizers: GPT-2's word pattern, and text from byte tokens. */
#ifndef CLF_TEXT_SEGMENTERS_BYTE_LEVEL_H
#define CLF_TEXT_SEGMENTERS_BYTE_LEVEL_H

#include <stddef.h>

#include "base/status.h"

/* Returns the size in bytes of the next word by GPT-2's pattern; `size` is at least 1. */
size_t clf__byte_level_word(const char *text, size_t size);

/* Decodes the characters of a token to bytes; a token with a character that encodes no byte is copied. `out`
 * has space for the token. Returns the number of bytes. */
size_t clf__byte_level_bytes(char *out, const char *token, size_t size);

/* Replaces invalid UTF-8 with U+FFFD, once per maximal subpart of a character, and NUL bytes with spaces.
 * `out` has space for three times `size`. Returns the new size. */
size_t clf__byte_level_repair(char *out, const char *bytes, size_t size);

#endif
