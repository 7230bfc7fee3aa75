#include "text/tokenizers/moses/sets.h"

#include <stdio.h>
#include <string.h>

#include <unicode/uset.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "base/memory.h"

/* The characters in sacremoses' lists, which a Perl with Unicode 7 generated. */
#define OF_LISTS "[:age=7.0:]&[\\u0000-\\uFFFF]"
#define ASIAN    "[:sc=Hani:]-[\\uAC00-\\uD7A3]"
/* Characters that became letters in later versions of Unicode. */
#define LATER                                                                                                \
    "[\\u0F82\\u0F83\\u1063\\u1064\\u1069-\\u106D\\u1087-\\u108D\\u108F\\u109A\\u109B\\u1C36\\uA802\\uA80B"  \
    "\\uA9E5\\uAA7B-\\uAA7D]"
#define LETTERS "[[[:Alphabetic:]&" OF_LISTS "]-" ASIAN "-" LATER "]\\u135F\\u25CC"
/* Viramas and nuktas that are missing from sacremoses' lists. */
#define UNLISTED                                                                                             \
    "[\\u0F84\\u1037\\u103A\\u1734\\u17D2\\u1A60\\u1B34\\u1B44\\u1BAA\\u1BE6\\u1BF2\\u1BF3\\u2D7F\\uA806"    \
    "\\uA9B3\\uA9C0\\uABED\\U0001107F\\U00011134\\U0001133B\\U0001172B\\U00011A47\\U00011A99\\U00011D44]"
#define SIGNS "[[[:ccc=7:][:ccc=9:]]&[:age=11.0:]-" UNLISTED "]\\u0AFD-\\u0AFF\\u0EBA\\U000119E0"

/* Unicode blocks without their first and last characters, which sacremoses omits before version 0.2. */
#define BLOCKS                                                                                               \
    "\\u1101-\\u11FE\\u2E81-\\uA4CE\\uA841-\\uA87E\\uAC01-\\uD7AE\\uF901-\\uFAFE\\uFE31-\\uFE4E\\uFF66-"     \
    "\\uFFDB\\U00017001-\\U00018AFE\\U0001B001-\\U0001B12E\\U0001B171-\\U0001B2FE\\U00020001-\\U0002FFFE"

static const struct {
    const char *name, *characters; /* name in patterns, and the set in ICU syntax */
    int has_scripts;
} rows[CLF__MOSES_SETS] = {
    [CLF__MOSES_LETTERS] = {"letters", LETTERS, 0},
    [CLF__MOSES_ALPHA] = {"alpha", LETTERS SIGNS, 0},
    [CLF__MOSES_WORD] = {"word", LETTERS SIGNS, 1},
    [CLF__MOSES_ALNUM] = {"alnum", LETTERS SIGNS "[[:Nd:]&" OF_LISTS "]", 1},
    [CLF__MOSES_NUMBER] = {"number", "[[:N:]&" OF_LISTS "-" ASIAN "]", 0},
    [CLF__MOSES_LOWER] = {"lower", "[[:Lowercase:]&[:age=9.0:]-[\\u10D0-\\u10FF]]\\u25CC", 0},
    [CLF__MOSES_CURRENCY] = {"currency", "[[:Sc:]&" OF_LISTS "]", 0},
    [CLF__MOSES_ASIAN] = {"asian", BLOCKS, 0},
};

const char *clf__moses_set_name(enum clf__moses_set set)
{
    return rows[set].name;
}

static clf_status failed(UErrorCode error)
{
    return error == U_MEMORY_ALLOCATION_ERROR
               ? clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for ICU")
               : clf__fail(CLF_UNSUPPORTED, "ICU cannot list the letters: %s; check its data files",
                           u_errorName(error));
}

static clf_status open_set(struct USet **out, enum clf__moses_set set,
                           const struct clf__moses_language *language)
{
    enum { MOST = 2048 };
    char text[MOST];
    UChar pattern[MOST];
    int32_t length = 0;
    UErrorCode error = U_ZERO_ERROR;
    const char *scripts = rows[set].has_scripts && language->scripts != NULL ? language->scripts : "";
    snprintf(text, sizeof text, "[%s%s]", rows[set].characters, scripts);
    u_strFromUTF8(pattern, MOST, &length, text, -1, &error);
    *out = uset_openPattern(pattern, length, &error);
    if (U_FAILURE(error)) {
        return failed(error);
    }
    uset_freeze(*out);
    return CLF_OK;
}

clf_status clf__moses_sets_open(struct clf__moses_sets *out, const struct clf__moses_language *language)
{
    clf_status status = CLF_OK;
    *out = (struct clf__moses_sets){.items = {NULL}};
    for (int i = 0; i < CLF__MOSES_SETS && status == CLF_OK; i++) {
        status = open_set(&out->items[i], (enum clf__moses_set)i, language);
    }
    if (status != CLF_OK) {
        clf__moses_sets_close(out);
    }
    return status;
}

void clf__moses_sets_close(struct clf__moses_sets *sets)
{
    for (int i = 0; i < CLF__MOSES_SETS; i++) {
        uset_close(sets->items[i]);
    }
    *sets = (struct clf__moses_sets){.items = {NULL}};
}

int clf__moses_has(const struct clf__moses_sets *sets, enum clf__moses_set set, const char *text, size_t size,
                   size_t *next)
{
    UChar32 character;
    *next = 0;
    U8_NEXT((const uint8_t *)text, *next, size, character);
    return uset_contains(sets->items[set], character);
}

clf_status clf__moses_set_class(char **out, const struct clf__moses_sets *sets, enum clf__moses_set set)
{
    enum { LONGEST = 24 };
    const struct USet *items = sets->items[set];
    int32_t count = uset_getItemCount(items);
    CLF__TRY(clf__allocate(out, (size_t)count * LONGEST + 1, 1));
    char *end = *out;
    for (int32_t i = 0; i < count; i++) {
        UChar32 first = 0, last = 0;
        UErrorCode error = U_ZERO_ERROR;
        uset_getItem(items, i, &first, &last, NULL, 0, &error);
        end += snprintf(end, LONGEST, "\\x{%X}-\\x{%X}", (unsigned)first, (unsigned)last);
    }
    return CLF_OK;
}
