#include "text/sentences.h"

#include <stdio.h>
#include <string.h>

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "base/memory.h"
#include "text/clean_up.h"
#include "text/languages.h"

enum { MIN_WORD = 4 }; /* letters of what is no abbreviation */

struct clf__sentence_rules {
    UBreakIterator *iterator;
};

clf_status clf__part_list_add(struct clf__part_list *list, struct clf__part part)
{
    CLF__TRY(clf__grow(&list->items, list->count, &list->capacity, sizeof *list->items));
    list->items[list->count++] = part;
    return CLF_OK;
}

void clf__part_list_free(struct clf__part_list *list)
{
    clf__free(list->items);
    *list = (struct clf__part_list){.count = 0};
}

static clf_status fail(UErrorCode error, const char *what)
{
    return clf__fail(error == U_MEMORY_ALLOCATION_ERROR ? CLF_OUT_OF_MEMORY : CLF_UNSUPPORTED,
                     "ICU cannot %s: %s; its data may be missing", what, u_errorName(error));
}

clf_status clf__sentence_rules_open(struct clf__sentence_rules **out, const char *language)
{
    char code[CLF__LANGUAGE_BYTES] = "", locale[CLF__LANGUAGE_BYTES + 16];
    if (language != NULL) {
        clf__language_shorten(code, language);
    }
    snprintf(locale, sizeof locale, "%s@ss=standard", code); /* with abbreviations */
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    UErrorCode error = U_ZERO_ERROR;
    (*out)->iterator = ubrk_open(UBRK_SENTENCE, locale, NULL, 0, &error);
    if (U_FAILURE(error)) {
        clf__sentence_rules_free(*out);
        *out = NULL;
        return fail(error, "find sentences");
    }
    return CLF_OK;
}

void clf__sentence_rules_free(struct clf__sentence_rules *rules)
{
    if (rules != NULL) {
        ubrk_close(rules->iterator);
        clf__free(rules);
    }
}

struct clf__part clf__part_trim(const char *text, size_t start, size_t end)
{
    for (size_t space; start < end && (space = clf__text_space_in(text + start, end - start)) > 0;) {
        start += space;
    }
    size_t kept = start;
    for (size_t at = start; at < end;) {
        size_t space = clf__text_space_in(text + at, end - at);
        at += space > 0 ? space : 1;
        kept = space > 0 ? kept : at;
    }
    return (struct clf__part){start, kept - start};
}

/* The letters that end at `at`. */
static int letters_before(const char *text, size_t at)
{
    int letters = 0;
    while (at > 0 && ((text[at - 1] | 0x20) >= 'a' || (text[at - 1] & 0x80) != 0) && letters < MIN_WORD) {
        letters++;
        at--;
    }
    return letters;
}

int clf__sentences_are_several(const char *text, size_t size)
{
    for (size_t at = 1; at + 2 < size; at++) {
        int is_end = (text[at] == '.' || text[at] == '!' || text[at] == '?') && text[at + 1] == ' ';
        int is_ideographic = at + 3 < size && memcmp(text + at, "\xe3\x80\x82", 3) == 0; /* U+3002 */
        int is_next = text[at + 2] >= 'A' && text[at + 2] <= 'Z';
        if (is_ideographic ||
            (is_end && (is_next || (text[at + 2] & 0x80) != 0) && letters_before(text, at) == MIN_WORD)) {
            return 1;
        }
    }
    return 0;
}

clf_status clf__sentences_find(struct clf__sentence_rules *rules, struct clf__part_list *out,
                               const char *text, size_t size)
{
    UErrorCode error = U_ZERO_ERROR;
    UText *opened = utext_openUTF8(NULL, text, (int64_t)size, &error);
    ubrk_setUText(rules->iterator, opened, &error);
    if (U_FAILURE(error)) {
        utext_close(opened);
        return fail(error, "read a text");
    }
    clf_status status = CLF_OK;
    int32_t start = ubrk_first(rules->iterator), end;
    while (status == CLF_OK && (end = ubrk_next(rules->iterator)) != UBRK_DONE) {
        struct clf__part part = clf__part_trim(text, (size_t)start, (size_t)end);
        if (part.size > 0) {
            status = clf__part_list_add(out, part);
        }
        start = end;
    }
    utext_close(opened);
    return status;
}
