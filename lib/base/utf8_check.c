/* Separate from utf8.c to avoid a cyclic dependency: status.c uses utf8.c, and these checks use status.c. */
#include <string.h>

#include "base/utf8.h"

enum { LEAST = 8 }; /* bytes: shorter text without a mark may be UTF-8 with NUL bytes */

/* Returns the encoding of the byte order mark; NULL if there is none. */
static const char *name_by_mark(const char *text, size_t size)
{
    if (size >= 4 && (memcmp(text, "\xff\xfe\0\0", 4) == 0 || memcmp(text, "\0\0\xfe\xff", 4) == 0)) {
        return "UTF-32";
    }
    int has_mark = size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
    return has_mark ? "UTF-16" : NULL;
}

/* Counts the NUL bytes at even and at odd offsets. */
static void count_zeros(size_t zeros[2], const char *text, size_t size)
{
    zeros[0] = zeros[1] = 0;
    for (size_t i = 0; i < size; i++) {
        zeros[i % 2] += text[i] == '\0';
    }
}

const char *clf__utf16_name(const char *text, size_t size)
{
    size_t zeros[2];
    const char *name = name_by_mark(text, size);
    if (name != NULL) {
        return name;
    }
    count_zeros(zeros, text, size);
    size_t more = zeros[0] > zeros[1] ? zeros[0] : zeros[1], fewer = zeros[0] + zeros[1] - more;
    return size >= LEAST && fewer == 0 && more * 5 >= size * 2 ? "UTF-16" : NULL;
}

static int is_control(unsigned unit)
{
    return unit < 0x20 && (unit < '\t' || unit > '\r');
}

/* Returns whether the bytes may be UTF-8, possibly with a truncated last character: no control characters
 * except NUL. */
static int may_be_utf8(const char *text, size_t size)
{
    enum { CUT = 3 };
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\0' && is_control((unsigned char)text[i])) {
            return 0;
        }
    }
    return clf__utf8_valid_prefix(text, size) + CUT >= size;
}

/* Returns whether the bytes may be UTF-16: no control characters, and surrogates only in pairs. `high` is
 * the index of the high byte in each unit: 0 or 1. */
static int may_be_utf16(const char *text, size_t size, int high)
{
    int needs_low = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned unit =
            (unsigned)(unsigned char)text[i + (size_t)high] << 8 | (unsigned char)text[i + 1 - (size_t)high];
        int is_low = unit >= 0xdc00 && unit < 0xe000;
        if (is_control(unit) || is_low != needs_low) {
            return 0;
        }
        needs_low = unit >= 0xd800 && unit < 0xdc00;
    }
    return 1;
}

clf_status clf__utf8_check_start(const char *name, const char *text, size_t size)
{
    size_t zeros[2];
    size = size < CLF__UTF8_START ? size : CLF__UTF8_START;
    const char *encoding = name_by_mark(text, size);
    count_zeros(zeros, text, size);
    int high = zeros[1] > 0;
    if (encoding == NULL && size >= LEAST && (zeros[0] > 0) != (zeros[1] > 0) &&
        (clf__utf16_name(text, size) != NULL ||
         (!may_be_utf8(text, size) && may_be_utf16(text, size, high)))) {
        encoding = high ? "UTF-16LE" : "UTF-16BE";
    }
    return encoding == NULL
               ? CLF_OK
               : clf__fail(CLF_TEXT, "%s: is in %s, not UTF-8; convert it with iconv -f %s -t UTF-8", name,
                           encoding, encoding);
}

clf_status clf__utf8_check(const char *text, size_t size)
{
    const char *name = clf__utf16_name(text, size);
    if (name != NULL) {
        return clf__fail(CLF_TEXT, "the text is in %s, not UTF-8; convert it with iconv -f %s -t UTF-8", name,
                         name);
    }
    size_t valid = clf__utf8_valid_prefix(text, size);
    return valid == size ? CLF_OK
                         : clf__fail(CLF_TEXT,
                                     "invalid UTF-8 at byte offset %zu; convert the text, for example with "
                                     "iconv -f WINDOWS-1252 -t UTF-8",
                                     valid);
}
