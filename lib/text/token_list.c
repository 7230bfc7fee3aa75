#include "text/token_list.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_FORMATTED = 64 };

void clf__token_list_free(struct clf__token_list *pieces)
{
    clf__free(pieces->text);
    clf__free(pieces->marks);
    *pieces = (struct clf__token_list){0};
}

clf_status clf__token_list_add(struct clf__token_list *pieces, const char *piece, size_t length, int marks)
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

clf_status clf__token_list_format(struct clf__token_list *pieces, int marks, const char *format, ...)
{
    char piece[MAX_FORMATTED];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    return clf__token_list_add(pieces, piece, (size_t)length, marks);
}

const char *clf__token_list_at(const struct clf__token_list *pieces, int number)
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

void clf__token_list_truncate(struct clf__token_list *pieces, int count)
{
    const char *end = clf__token_list_at(pieces, count);
    if (end != NULL) {
        pieces->bytes = (size_t)(end - pieces->text);
        pieces->count = count;
    }
}
