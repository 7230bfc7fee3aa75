/* UTF-8 validation; invalid text is never repaired. */
#ifndef CLF_BASE_UTF8_H
#define CLF_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Returns the length of the longest valid prefix, without overlong forms, surrogates and code points above
 * U+10FFFF; `size` if all bytes are valid. */
size_t clf__utf8_valid_prefix(const char *text, size_t size);

/* Returns the size of the byte order mark at the start of a text: 3 or 0. */
size_t clf__utf8_mark(const char *text, size_t size);

/* Returns CLF_TEXT if the text is not valid UTF-8; the message gives the byte offset and a remedy. The
 * caller prepends the source of the text. */
clf_status clf__utf8_check(const char *text, size_t size);
/* Returns "UTF-16" or "UTF-32" for a text with that byte order mark, "UTF-16" also for 8 bytes or more of
 * UTF-16 in mostly Latin letters, and NULL for any other text. */
const char *clf__utf16_name(const char *text, size_t size);

/* Checks the first CLF__UTF8_START bytes of a file: returns CLF_TEXT if they are UTF-16 or UTF-32, with or
 * without a byte order mark. The message names the file and the command that converts it. UTF-16 without a
 * mark has NUL bytes only at even or only at odd offsets. */
enum { CLF__UTF8_START = 4096 };
clf_status clf__utf8_check_start(const char *name, const char *text, size_t size);

/* Returns the number of code points that start in the first `size` bytes of valid UTF-8. */
size_t clf__utf8_count(const char *text, size_t size);

/* Returns the largest length <= size at which the text can be cut without splitting a code point. */
size_t clf__utf8_cut(const char *text, size_t size);

#endif
