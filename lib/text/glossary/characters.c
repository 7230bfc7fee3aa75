/* Characters of terms and lines. */
#include <limits.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/glossary/glossary.h"

enum { GROWTH = 3 }; /* normal form C has at most three times the units of a text */

/* `room` holds the UTF-16 text and its normal form; the normal form is the result. */
static clf_status normalise(int32_t *made, UChar *room, const char *text, size_t size)
{
    UErrorCode error = U_ZERO_ERROR;
    int32_t units = 0;
    const UNormalizer2 *form = unorm2_getNFCInstance(&error);
    u_strFromUTF8(room, (int32_t)size, &units, text, (int32_t)size, &error);
    *made = unorm2_normalize(form, room, units, room + size, (int32_t)(GROWTH * size), &error);
    return U_SUCCESS(error)
               ? CLF_OK
               : clf__fail(error == U_MEMORY_ALLOCATION_ERROR ? CLF_OUT_OF_MEMORY : CLF_UNSUPPORTED,
                           "ICU cannot normalise a text: %s; check its data files", u_errorName(error));
}

clf_status clf__characters_read(struct clf__characters *out, const char *text, size_t size)
{
    UChar *room = NULL;
    int32_t units = 0;
    *out = (struct clf__characters){.count = 0};
    if (size > INT_MAX / (GROWTH + 1)) {
        return clf__fail(CLF_TEXT, "a line of %zu bytes is too long for a glossary", size);
    }
    if (size == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__utf8_check(text, size));
    CLF__TRY(clf__allocate(&room, (GROWTH + 1) * size, sizeof *room));
    clf_status status = normalise(&units, room, text, size);
    if (status == CLF_OK) {
        status = clf__allocate(&out->items, (size_t)units, sizeof *out->items);
    }
    const UChar *form = room + size;
    for (int32_t at = 0; status == CLF_OK && at < units;) {
        UChar32 character;
        U16_NEXT(form, at, units, character);
        int is_space = u_isUWhiteSpace(character);
        if (!is_space) {
            out->items[out->count++] = character;
        } else if (out->count == 0 || out->items[out->count - 1] != ' ') {
            out->items[out->count++] = ' ';
        }
    }
    clf__free(room);
    return status;
}

int clf__is_unspaced(int32_t character)
{
    static const UScriptCode scripts[] = {USCRIPT_HAN, USCRIPT_HIRAGANA, USCRIPT_KATAKANA, USCRIPT_THAI,
                                          USCRIPT_LAO, USCRIPT_KHMER,    USCRIPT_MYANMAR};
    int is_one = 0;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        is_one |= uscript_hasScript(character, scripts[i]);
    }
    return is_one;
}

int clf__is_word_character(int32_t character)
{
    return u_isalnum(character) || (U_MASK(u_charType(character)) & U_GC_M_MASK) != 0;
}

int clf__is_word_boundary(int32_t before, int32_t after)
{
    if (!clf__is_word_character(before) || !clf__is_word_character(after)) {
        return 1;
    }
    int is_mark = (U_MASK(u_charType(after)) & U_GC_M_MASK) != 0;
    return !is_mark && (clf__is_unspaced(before) || clf__is_unspaced(after));
}
