/* Lines and letters of texts. */
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "translate/documents/format.h"

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

int clf__text_line_of(const char *bytes, size_t at)
{
    struct clf__text_line line = {.next = 0};
    while (line.next <= at && clf__text_line_next(&line, bytes, at + 1)) {
    }
    return line.number;
}

size_t clf__text_find(const char *text, size_t size, size_t at, const char *part, size_t part_size)
{
    for (; at + part_size <= size; at++) {
        if (memcmp(text + at, part, part_size) == 0) {
            return at;
        }
    }
    return size;
}

int clf__text_begins(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    return length <= size && memcmp(text, word, length) == 0;
}

int clf__text_contains(const char *text, size_t size, const char *word)
{
    return clf__text_find(text, size, 0, word, strlen(word)) < size;
}

int clf__text_is_address(const char *text, size_t size)
{
    return clf__text_contains(text, size, "://") && memchr(text, ' ', size) == NULL;
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
