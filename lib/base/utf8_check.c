/* Separate from utf8.c, which status.c uses to cut messages. */
#include <string.h>

#include "base/utf8.h"

const char *clf__utf16_name(const char *text, size_t size)
{
    enum { LEAST = 8 }; /* bytes: shorter text without a byte order mark may be UTF-8 with NUL bytes */
    size_t zeros[2] = {0};
    if (size >= 4 && (memcmp(text, "\xff\xfe\0\0", 4) == 0 || memcmp(text, "\0\0\xfe\xff", 4) == 0)) {
        return "UTF-32";
    }
    if (size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        return "UTF-16";
    }
    for (size_t i = 0; i < size; i++) {
        zeros[i % 2] += text[i] == '\0';
    }
    size_t more = zeros[0] > zeros[1] ? zeros[0] : zeros[1], fewer = zeros[0] + zeros[1] - more;
    return size >= LEAST && fewer == 0 && more * 5 >= size * 2 ? "UTF-16" : NULL;
}

clf_status clf__utf8_check(const char *text, size_t size)
{
    const char *name = clf__utf16_name(text, size);
    if (name != NULL) {
        return clf__fail(CLF_TEXT, "the text is %s; convert it with iconv -f %s -t UTF-8", name, name);
    }
    size_t valid = clf__utf8_valid_prefix(text, size);
    return valid == size
               ? CLF_OK
               : clf__fail(CLF_TEXT,
                           "the byte at offset %zu is not UTF-8; convert the text, for example with "
                           "iconv -f WINDOWS-1252 -t UTF-8",
                           valid);
}
