#include "translate/documents/words.h"

#include <stdint.h>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/glossary/glossary.h"

static UChar32 point_before(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    UChar32 point = 0;
    int32_t at = (int32_t)size;
    if (size > 0) {
        U8_PREV(bytes, 0, at, point);
    }
    return point;
}

static UChar32 point_at(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    UChar32 point = 0;
    int32_t at = 0;
    if (size > 0) {
        U8_NEXT(bytes, at, (int32_t)size, point);
    }
    return point;
}

/* Returns whether words are written without spaces: Chinese, Japanese, and scripts of South-East Asia. */
static int is_unspaced(UChar32 point)
{
    return (point >= 0x2e80 && point < 0xa000) || (point >= 0xf900 && point < 0xfb00) ||
           (point >= 0xff00 && point < 0xfff0) || (point >= 0x20000 && point < 0x40000) ||
           (point >= 0xe00 && point < 0xf00) || (point >= 0x1000 && point < 0x10a0) ||
           (point >= 0x1780 && point < 0x1800);
}

int clf__words_need_space(const char *text, size_t size, const char *next, size_t next_size)
{
    return !is_unspaced(point_before(text, size)) || !is_unspaced(point_at(next, next_size));
}

int clf__words_are_joined(const char *text, size_t size, size_t at)
{
    return !clf__is_word_boundary(point_before(text, at), point_at(text + at, size - at));
}

static clf_status find_breaks(size_t **out, int *count, UBreakIterator *iterator, const char *text,
                              size_t size)
{
    int capacity = 0;
    for (int32_t at = ubrk_next(iterator); at != UBRK_DONE && (size_t)at < size; at = ubrk_next(iterator)) {
        UChar32 before = point_before(text, (size_t)at);
        if (at > 0 && (u_isUWhiteSpace(before) || is_unspaced(before))) {
            CLF__TRY(clf__grow(out, *count, &capacity, sizeof **out));
            (*out)[(*count)++] = (size_t)at;
        }
    }
    return CLF_OK;
}

clf_status clf__words_breaks(size_t **out, int *count, const char *text, size_t size)
{
    UErrorCode error = U_ZERO_ERROR;
    *out = NULL;
    *count = 0;
    UText *opened = utext_openUTF8(NULL, text, (int64_t)size, &error);
    UBreakIterator *iterator = ubrk_open(UBRK_LINE, "", NULL, 0, &error);
    if (U_SUCCESS(error)) {
        ubrk_setUText(iterator, opened, &error);
    }
    clf_status status = U_SUCCESS(error)
                            ? find_breaks(out, count, iterator, text, size)
                            : clf__fail(CLF_OUT_OF_MEMORY, "words cannot be found: %s", u_errorName(error));
    if (iterator != NULL) {
        ubrk_close(iterator);
    }
    utext_close(opened);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
        *count = 0;
    }
    return status;
}

size_t clf__words_columns(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t columns = 0;
    UChar32 point;
    for (int32_t at = 0; at < (int32_t)size;) {
        U8_NEXT(bytes, at, (int32_t)size, point);
        int type = point >= 0 ? u_charType(point) : U_UNASSIGNED;
        int width = u_getIntPropertyValue(point, UCHAR_EAST_ASIAN_WIDTH);
        int is_hidden = type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK || type == U_FORMAT_CHAR;
        columns += is_hidden ? 0 : width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
    }
    return columns;
}
