/* What the byte-level tokenizers share: GPT-2's words, and text from pieces of bytes. */
#ifndef CLF_TEXT_SEGMENTERS_BYTE_LEVEL_H
#define CLF_TEXT_SEGMENTERS_BYTE_LEVEL_H

#include <stddef.h>

#include "base/status.h"

/* How many bytes the next word has by GPT-2's pattern: size is 1 at least. */
size_t clf__byte_level_word(const char *text, size_t size);

/* The bytes that a piece's characters stand for, or the piece itself where one stands for none; `out` has
 * room for the piece. Returns their number. */
size_t clf__byte_level_bytes(char *out, const char *piece, size_t size);

/* Bytes that are no UTF-8 become U+FFFD, one for each part that could have begun a character, and NUL bytes
 * spaces. `out` has room for three times the bytes. Returns how many there are then. */
size_t clf__byte_level_repair(char *out, const char *bytes, size_t size);

#endif
