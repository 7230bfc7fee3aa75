/* Lines and letters of texts. */
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "translate/documents/format.h"

size_t clf__document_mark(const char *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int clf__text_line_next(struct clf__text_line *line, const char *bytes, size_t size)
{
    size_t at = line->next;
    if (at >= size) {
        return 0;
    }
    line->start = at;
    while (at < size && bytes[at] != '\n' && bytes[at] != '\r') {
        at++;
    }
    line->end = at;
    at += at < size;
    at += at < size && bytes[at - 1] == '\r' && bytes[at] == '\n';
    line->next = at;
    line->number++;
    return 1;
}

int clf__text_has_letter(const char *text, size_t size)
{
    UChar32 point;
    for (size_t at = 0; at < size;) {
        U8_NEXT(text, at, size, point);
        if (point >= 0 && u_isUAlphabetic(point)) {
            return 1;
        }
    }
    return 0;
}
