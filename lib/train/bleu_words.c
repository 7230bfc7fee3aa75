/* The rules of mteval-v13a in the order in which sacreBLEU applies them. Each rule reads the previous
 * rule's output from left to right and continues after each match.
 *
 * The rules are defined on code points but can be applied to UTF-8 bytes: a byte of a multi-byte sequence is
 * neither a digit nor punctuation, and no rule removes part of a sequence. */
#include "train/bleu_words.h"

#include <limits.h>
#include <string.h>

#include <unicode/ucasemap.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/clean_up.h"

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char *put_spaced(char *out, char c)
{
    *out++ = ' ';
    *out++ = c;
    *out++ = ' ';
    return out;
}

/* ASCII punctuation except ' , - and . */
static int is_punctuation(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static void space_punctuation(char *out, const char *text)
{
    for (; *text; text++) {
        if (is_punctuation(*text)) {
            out = put_spaced(out, *text);
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static int is_mark(char c)
{
    return c == '.' || c == ',';
}

/* "x." to "x . " */
static void space_marks_behind(char *out, const char *text)
{
    while (*text) {
        *out++ = *text++;
        if (!is_digit(text[-1]) && is_mark(*text)) {
            out = put_spaced(out, *text++);
        }
    }
    *out = '\0';
}

/* ".x" to " . x" */
static void space_marks_before(char *out, const char *text)
{
    while (*text) {
        if (is_mark(*text) && text[1] && !is_digit(text[1])) {
            out = put_spaced(out, *text++);
        }
        *out++ = *text++;
    }
    *out = '\0';
}

/* "1-" to "1 - " */
static void space_dashes(char *out, const char *text)
{
    while (*text) {
        *out++ = *text++;
        if (is_digit(text[-1]) && *text == '-') {
            out = put_spaced(out, *text++);
        }
    }
    *out = '\0';
}

/* Inserts spaces at the word boundaries of 13a; the caller frees *out. */
static clf_status cut_13a(char **out, const char *line)
{
    char *a = NULL, *b = NULL;
    size_t size = strlen(line);
    /* Two rules apply to a punctuation mark, which becomes at most five bytes; every other byte becomes at
     * most three. */
    clf_status status = clf__allocate(&a, size + 3, 5);
    if (status == CLF_OK) {
        status = clf__allocate(&b, size + 3, 5);
    }
    if (status != CLF_OK) {
        clf__free(a);
        return status;
    }
    a[0] = ' ';
    memcpy(a + 1, line, size + 1);
    clf__text_strip_end(a + 1);
    clf__text_replace(a + 1, "<skipped>", "");
    clf__text_replace(a + 1, "-\n", "");
    clf__text_replace(a + 1, "\n", " ");
    clf__text_replace(a + 1, "&quot;", "\"");
    clf__text_replace(a + 1, "&amp;", "&");
    clf__text_replace(a + 1, "&lt;", "<");
    clf__text_replace(a + 1, "&gt;", ">");
    strcat(a, " ");
    space_punctuation(b, a);
    space_marks_behind(a, b);
    space_marks_before(b, a);
    space_dashes(a, b);
    clf__free(b);
    *out = a;
    return CLF_OK;
}

/* Splits at white space. */
static clf_status split(struct clf__words *words)
{
    size_t size = strlen(words->text);
    if (size / 2 >= INT_MAX) {
        return clf__fail(CLF_TEXT, "a line of %zu bytes has too many words to count", size);
    }
    CLF__TRY(clf__allocate(&words->items, size / 2 + 1, sizeof *words->items));
    int in_word = 0;
    for (char *text = words->text; *text;) {
        size_t space = clf__text_space(text);
        if (space) {
            *text = '\0';
        } else if (!in_word) {
            words->items[words->count++] = text;
        }
        in_word = !space;
        text += space ? space : 1;
    }
    return CLF_OK;
}

clf_status clf__lower_case(char **out, const char *text)
{
    size_t size = strlen(text);
    if (size >= INT_MAX / 2) {
        return clf__fail(CLF_TEXT, "a line of %zu bytes is too long to convert to lower case", size);
    }
    /* A lower-case letter is at most one byte longer than its capital letter: U+0130 becomes three bytes
     * instead of two. */
    size_t room = 2 * size + 1;
    CLF__TRY(clf__allocate(out, room, 1));
    UErrorCode error = U_ZERO_ERROR;
    UCaseMap *map = ucasemap_open("", 0, &error); /* independent of the locale */
    ucasemap_utf8ToLower(map, *out, (int32_t)room, text, (int32_t)size, &error);
    ucasemap_close(map);
    if (U_FAILURE(error)) {
        clf__free(*out);
        *out = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "cannot convert a line to lower case: ICU reports %s",
                         u_errorName(error));
    }
    return CLF_OK;
}

clf_status clf__words_check(const char *const *lines, int index, const char *which)
{
    if (lines == NULL || lines[index] == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "line %d of the %s is NULL", index + 1, which);
    }
    clf_status status = clf__utf8_check(lines[index], strlen(lines[index]));
    return status == CLF_OK ? CLF_OK : clf__fail_in(status, "line %d of the %s", index + 1, which);
}

clf_status clf__words_cut(struct clf__words *out, const char *line, clf_bleu_words words, int lower_case)
{
    *out = (struct clf__words){0};
    char *lower = NULL;
    clf_status status = lower_case ? clf__lower_case(&lower, line) : CLF_OK;
    if (status == CLF_OK) {
        const char *text = lower ? lower : line;
        status = words == CLF_BLEU_13A ? cut_13a(&out->text, text) : clf__copy_string(&out->text, text);
    }
    clf__free(lower);
    if (status == CLF_OK) {
        status = split(out);
    }
    if (status != CLF_OK) {
        clf__words_free(out);
    }
    return status;
}

void clf__words_free(struct clf__words *words)
{
    clf__free(words->items);
    clf__free(words->text);
    *words = (struct clf__words){0};
}
