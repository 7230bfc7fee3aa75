#include "base/utf8.h"

#include <string.h>

/* Returns the length of the sequence with this lead byte, or 0 for an invalid lead byte. C0 and C1 would
 * start overlong sequences, F5 and above code points beyond U+10FFFF. */
static size_t sequence_length(uint8_t lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

static int is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Checks the second byte for the remaining errors: overlong sequences, surrogates, and code points above
 * U+10FFFF. */
static int second_byte_fits(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second <= 0x9F;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second <= 0x8F;
    default:
        return 1;
    }
}

size_t clf__utf8_valid_prefix(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t i = 0;
    while (i < size) {
        size_t length = sequence_length(bytes[i]);
        if (length == 0 || length > size - i) {
            return i;
        }
        for (size_t k = 1; k < length; k++) {
            if (!is_continuation(bytes[i + k])) {
                return i;
            }
        }
        if (length > 1 && !second_byte_fits(bytes[i], bytes[i + 1])) {
            return i;
        }
        i += length;
    }
    return size;
}

size_t clf__utf8_cut(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        uint8_t byte = bytes[size - back];
        if (!is_continuation(byte)) {
            return sequence_length(byte) > back ? size - back : size;
        }
    }
    return size;
}

size_t clf__utf8_count(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += !is_continuation((uint8_t)text[i]);
    }
    return count;
}

size_t clf__utf8_mark(const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = strlen(mark);
    return size >= length && memcmp(text, mark, length) == 0 ? length : 0;
}
