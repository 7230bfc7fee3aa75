/* UTF-8: checked, never repaired. */
#ifndef CLF_BASE_UTF8_H
#define CLF_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The offset of the first byte that is not part of valid UTF-8 (no overlong forms, no surrogates, at most
 * U+10FFFF), or size when all is valid. */
size_t clf__utf8_valid_prefix(const char *text, size_t size);

/* CLF_TEXT if the text is not valid UTF-8: the message names the byte and the remedy. The caller adds the
 * source of the text as a prefix. */
clf_status clf__utf8_check(const char *text, size_t size);
/* "UTF-16" or "UTF-32" for a text that begins with its byte order mark; "UTF-16" also for 8 bytes or more
 * of UTF-16 in mostly Latin letters; NULL for any other text. */
const char *clf__utf16_name(const char *text, size_t size);

/* Checks the beginning of a file, of which CLF__UTF8_START bytes are enough: CLF_TEXT if the file is UTF-16
 * or UTF-32, with or without a byte order mark. The message names the file and the command that converts it.
 * UTF-16 without a mark is recognised by NUL bytes that are all in even or all in odd places. */
enum { CLF__UTF8_START = 4096 };
clf_status clf__utf8_check_start(const char *name, const char *text, size_t size);

/* The number of code points that start in the first `size` bytes of valid UTF-8. */
size_t clf__utf8_count(const char *text, size_t size);

/* The longest length <= size at which text can be cut without splitting a code point. */
size_t clf__utf8_cut(const char *text, size_t size);

#endif
