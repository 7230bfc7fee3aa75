#include "text/tokenizers/json/unicode.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uset.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "base/memory.h"

uint32_t clf__category_of(int version, int32_t character)
{
    enum { OLD = 0x300 }; /* characters below it exist in every version of Unicode */
    UVersionInfo age = {0};
    if (character >= OLD) {
        u_charAge(character, age);
    }
    return age[0] <= version ? U_MASK(u_charType(character)) : 0;
}

struct form {
    UNormalizer2 *normalizer;
    USet *known; /* characters assigned in the Unicode version */
};

void clf__form_close(void *state)
{
    struct form *form = state;
    unorm2_close(form->normalizer);
    uset_close(form->known);
    clf__free(form);
}

static clf_status normal_failed(UErrorCode error)
{
    return clf__fail(error == U_MEMORY_ALLOCATION_ERROR ? CLF_OUT_OF_MEMORY : CLF_UNSUPPORTED,
                     "ICU cannot normalise a text: %s; check its data files", u_errorName(error));
}

/* `room` holds the UTF-16 text and its normalised form, which has at most 18 times as many units. */
static clf_status normalise_with(const UNormalizer2 *form, UChar *room, struct clf__word_list *out,
                                 const char *text, size_t size)
{
    enum { GROWTH = 18 };
    UErrorCode error = U_ZERO_ERROR;
    int32_t units = 0, made = 0;
    UChar *target = room + size;
    u_strFromUTF8(room, (int32_t)size, &units, text, (int32_t)size, &error);
    made = unorm2_normalize(form, room, units, target, (int32_t)(GROWTH * size), &error);
    if (U_FAILURE(error)) {
        return normal_failed(error);
    }
    for (int32_t at = 0; at < made;) {
        UChar32 character;
        U16_NEXT(target, at, made, character);
        CLF__TRY(clf__word_list_put_character(out, character));
    }
    return CLF_OK;
}

static clf_status normalise(const UNormalizer2 *form, struct clf__word_list *out, const char *text,
                            size_t size)
{
    enum { MOST_BYTES = 1 << 26, UNITS = 19 };
    size_t ascii = 0;
    while (ascii < size && (text[ascii] & 0x80) == 0) {
        ascii++;
    }
    if (ascii == size) {
        return clf__word_list_put(out, text, size);
    }
    if (size > MOST_BYTES) {
        return clf__fail(CLF_TEXT, "a line of %zu bytes is too long to be normalised", size);
    }
    UChar *room = NULL;
    CLF__TRY(clf__resize(&room, UNITS * size, sizeof *room));
    clf_status status = normalise_with(form, room, out, text, size);
    clf__free(room);
    return status;
}

static const UNormalizer2 *whole_form(enum clf__form form, UErrorCode *error)
{
    switch (form) {
    case CLF__FORM_NFC:
        return unorm2_getNFCInstance(error);
    case CLF__FORM_NFD:
        return unorm2_getNFDInstance(error);
    case CLF__FORM_NFKC:
        return unorm2_getNFKCInstance(error);
    default:
        return unorm2_getNFKDInstance(error);
    }
}

clf_status clf__form_open(void **state, enum clf__form form)
{
    static const UChar known[] = u"[:age=9.0:]"; /* Unicode version of the normalization tables */
    UErrorCode error = U_ZERO_ERROR;
    struct form *made = NULL;
    CLF__TRY(clf__allocate(&made, 1, sizeof *made));
    const UNormalizer2 *whole = whole_form(form, &error);
    made->known = uset_openPattern(known, -1, &error);
    if (U_SUCCESS(error)) {
        uset_freeze(made->known);
        made->normalizer = unorm2_openFiltered(whole, made->known, &error);
    }
    if (U_FAILURE(error)) {
        clf__form_close(made);
        return normal_failed(error);
    }
    *state = made;
    return CLF_OK;
}

clf_status clf__form_run(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const struct form *form = state;
    for (int i = 0; i < in->count; i++) {
        CLF__TRY(normalise(form->normalizer, out, in->bytes + in->items[i].start, in->items[i].size));
        CLF__TRY(clf__word_list_end(out, in->items[i].is_first));
    }
    return CLF_OK;
}
