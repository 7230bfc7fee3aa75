#include "base/escape.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { LONGEST = sizeof "\\u0000" }; /* longest escape sequence */

/* Returns the escape sequence of a UTF-8 character of `length` bytes, or NULL if the character needs
 * none. */
static const char *replace(char escape[LONGEST], const uint8_t *bytes, size_t length)
{
    unsigned code = bytes[0];
    if (length == 1 && ((code >= ' ' && code < 0x7F) || code == '\n' || code == '\t')) {
        return NULL;
    }
    if (length == 1) {
        snprintf(escape, LONGEST, "\\x%02x", code);
        return escape;
    }
    code = length == 2   ? (code & 0x1Fu) << 6 | (bytes[1] & 0x3Fu)
           : length == 3 ? (code & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu)
                         : 0x10000; /* nothing to replace */
    int is_control = code >= 0x80 && code < 0xA0;
    int turns_text = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    if (!is_control && !turns_text) {
        return NULL;
    }
    snprintf(escape, LONGEST, "\\u%04x", code);
    return escape;
}

/* Returns the length of the first character in bytes; 1 if it is not valid UTF-8. */
static size_t first_length(const char *text, size_t size)
{
    for (size_t length = 1; length <= 4 && length <= size; length++) {
        if (clf__utf8_valid_prefix(text, length) == length) {
            return length;
        }
    }
    return 1;
}

size_t clf__escape(char *out, size_t capacity, const char *text, size_t size)
{
    size_t used = 0, end = 0;
    for (size_t i = 0, length; i < size; i += length) {
        char escape[LONGEST];
        length = first_length(text + i, size - i);
        const char *shown = replace(escape, (const uint8_t *)text + i, length);
        size_t shown_length = shown ? strlen(shown) : length;
        if (used + shown_length < capacity) { /* stop before a character that does not fit */
            memcpy(out + used, shown ? shown : text + i, shown_length);
            end = used + shown_length;
        }
        used += shown_length;
    }
    if (capacity > 0) {
        out[end] = '\0';
    }
    return used;
}
