#include "text/pieces.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_FORMATTED = 64 };

void clf__pieces_free(struct clf__pieces *pieces)
{
    clf__free(pieces->text);
    clf__free(pieces->marks);
    *pieces = (struct clf__pieces){0};
}

clf_status clf__pieces_add(struct clf__pieces *pieces, const char *piece, size_t length, int marks)
{
    if (pieces->count > INT_MAX / 2 || memchr(piece, '\0', length) != NULL) {
        return clf__fail(CLF_FORMAT, "piece %d %s", pieces->count,
                         pieces->count > INT_MAX / 2 ? "is one too many" : "holds a NUL byte");
    }
    CLF__TRY(clf__grow(&pieces->marks, pieces->count, &pieces->capacity, sizeof *pieces->marks));
    CLF__TRY(clf__grow_to(&pieces->text, pieces->bytes + length + 1, &pieces->bytes_capacity, 1));
    memcpy(pieces->text + pieces->bytes, piece, length);
    pieces->text[pieces->bytes + length] = '\0';
    pieces->bytes += length + 1;
    pieces->marks[pieces->count++] = (uint16_t)marks;
    return CLF_OK;
}

clf_status clf__pieces_format(struct clf__pieces *pieces, int marks, const char *format, ...)
{
    char piece[MAX_FORMATTED];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    return clf__pieces_add(pieces, piece, (size_t)length, marks);
}

const char *clf__pieces_at(const struct clf__pieces *pieces, int number)
{
    const char *piece = pieces->text;
    if (number < 0 || number >= pieces->count) {
        return NULL;
    }
    for (int i = 0; i < number; i++) {
        piece += strlen(piece) + 1;
    }
    return piece;
}

void clf__pieces_cut(struct clf__pieces *pieces, int count)
{
    const char *end = clf__pieces_at(pieces, count);
    if (end != NULL) {
        pieces->bytes = (size_t)(end - pieces->text);
        pieces->count = count;
    }
}
