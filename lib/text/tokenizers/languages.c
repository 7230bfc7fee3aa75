#include "text/tokenizers/languages.h"

#include <string.h>
#include <strings.h>

#include <unicode/uloc.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/vocabulary.h"

enum { MAX_CODE = CLF__LANGUAGE_BYTES };

void clf__languages_free(struct clf__languages *languages)
{
    for (int i = 0; i < languages->count; i++) {
        clf__free(languages->items[i].code);
    }
    clf__free(languages->items);
    *languages = (struct clf__languages){0};
}

static clf_status add(struct clf__languages *languages, const char *code, size_t length, int32_t id)
{
    CLF__TRY(clf__grow(&languages->items, languages->count, &languages->capacity, sizeof *languages->items));
    struct clf__language *language = &languages->items[languages->count];
    CLF__TRY(clf__copy_bytes(&language->code, code, length));
    language->id = id;
    languages->count++;
    return CLF_OK;
}

static int is_between(char c, char first, char last)
{
    return c >= first && c <= last;
}

/* Counts the leading characters of a text that are in a range. */
static size_t span(const char *text, char first, char last)
{
    size_t length = 0;
    while (is_between(text[length], first, last)) {
        length++;
    }
    return length;
}

/* Returns whether a text has the form of a language code: "ht", "tyv_Cyrl", "quz_PE", "sr-Latn-RS". */
static int is_code(const char *text, size_t size)
{
    size_t language = span(text, 'a', 'z');
    for (size_t i = language; i < size; i++) {
        int is_alphanumeric =
            is_between(text[i], 'a', 'z') || is_between(text[i], 'A', 'Z') || is_between(text[i], '0', '9');
        if (!is_alphanumeric && (i + 1 == size || (text[i] != '_' && text[i] != '-'))) {
            return 0;
        }
    }
    return language >= 2 && language <= 3 && size < MAX_CODE &&
           (language >= size || text[language] == '_' || text[language] == '-');
}

/* Returns whether a code is unambiguous: it has a script or a country. */
static int is_clear_code(const char *text, size_t size)
{
    size_t language = span(text, 'a', 'z');
    const char *rest = text + language + 1;
    if (!is_code(text, size) || language >= size) {
        return 0;
    }
    size_t large = span(rest, 'A', 'Z'), small = span(rest + large, 'a', 'z');
    return language + 1 + large + small == size && ((large == 1 && small == 3) || (large == 2 && small == 0));
}

/* An added token outside the class's list is a language if it has the form of a code. */
static int is_added_language(const struct clf__tokenizer_class *of, int marks, const char *text, size_t size)
{
    int is_added = (marks & CLF__TOKEN_FOUND) != 0 && (marks & CLF__TOKEN_SPARE) == 0;
    int is_marked = (marks & CLF__TOKEN_SPECIAL) != 0 || *of->language_opens != '\0';
    return is_added && (is_marked ? is_code(text, size) : is_clear_code(text, size));
}

clf_status clf__languages_collect(struct clf__languages *out, const struct clf__vocabulary *vocabulary,
                                  const struct clf__tokenizer_class *of)
{
    if (of == NULL || of->place == CLF__LANGUAGE_NOWHERE) {
        return CLF_OK;
    }
    size_t opens = strlen(of->language_opens), closes = strlen(of->language_closes);
    for (int32_t id = 0; id < vocabulary->size; id++) {
        const char *token = vocabulary->tokens[id];
        size_t length = strlen(token);
        if (strncmp(token, of->language_opens, opens) != 0 || length <= opens + closes ||
            strcmp(token + length - closes, of->language_closes) != 0) {
            continue;
        }
        int marks = vocabulary->marks[id];
        size_t size = length - opens - closes;
        if (of->finds_languages || (marks & CLF__TOKEN_LANGUAGE) != 0 ||
            is_added_language(of, marks, token + opens, size)) {
            CLF__TRY(add(out, token + opens, size, id));
        }
    }
    return CLF_OK;
}

/* Returns the macrolanguage of a member code (ISO 639-3): multilingual models name the most widely spoken
 * member, but users name the macrolanguage. */
static const char *whole_of(const char *member)
{
    static const char *const pairs[][2] = {
        {"als", "sq"}, {"arb", "ar"}, {"ayr", "ay"}, {"azj", "az"}, {"cmn", "zh"},
        {"ekk", "et"}, {"gaz", "om"}, {"khk", "mn"}, {"kmr", "ku"}, {"lvs", "lv"},
        {"npi", "ne"}, {"ory", "or"}, {"pbt", "ps"}, {"pes", "fa"}, {"plt", "mg"},
        {"quy", "qu"}, {"swh", "sw"}, {"uzn", "uz"}, {"ydd", "yi"}, {"zsm", "ms"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(member, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    return member;
}

/* A code split into its language and the rest, in canonical form with underscores. */
struct parts {
    char language[MAX_CODE], rest[MAX_CODE];
};

static struct parts parts_of(const char *code)
{
    struct parts parts = {{0}, {0}};
    char whole[MAX_CODE] = {0};
    size_t length = strcspn(code, "-_");
    if (length >= sizeof whole || strlen(code) >= sizeof parts.rest) {
        return parts; /* too long for a language code, so it matches nothing */
    }
    memcpy(whole, code, length);
    UErrorCode error = U_ZERO_ERROR;
    int32_t made = uloc_canonicalize(whole, parts.language, sizeof parts.language, &error);
    if (U_FAILURE(error) || made <= 0) {
        memcpy(parts.language, whole, sizeof whole);
    }
    const char *shorter = whole_of(parts.language);
    memmove(parts.language, shorter, strlen(shorter) + 1);
    if (code[length] != '\0') {
        strcpy(parts.rest, code + length + 1);
    }
    for (char *c = parts.rest; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return parts;
}

int clf__languages_are_same(const char *code, size_t size, const char *other, size_t other_size)
{
    char copy[MAX_CODE] = {0}, other_copy[MAX_CODE] = {0};
    if (size >= sizeof copy || other_size >= sizeof other_copy) {
        return 0;
    }
    memcpy(copy, code, size);
    memcpy(other_copy, other, other_size);
    const struct parts parts = parts_of(copy), other_parts = parts_of(other_copy);
    return parts.language[0] != '\0' && strcasecmp(parts.language, other_parts.language) == 0;
}

/* Returns whether a model's code matches the request; a missing script or country matches any. */
static int may_be(const struct parts *wanted, const char *code)
{
    struct parts parts = parts_of(code);
    return wanted->language[0] != '\0' && strcasecmp(parts.language, wanted->language) == 0 &&
           (wanted->rest[0] == '\0' || strcasecmp(parts.rest, wanted->rest) == 0);
}

/* Fails with a message about ambiguous or similar languages. */
static clf_status fail(const struct clf__languages *languages, const char *wanted, const int *found,
                       int count)
{
    if (count > 0) {
        const char *second = count > 1 ? languages->items[found[1]].code : "";
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "\"%.40s\" matches several languages of the model: \"%.40s\", \"%.40s\"%s; use one of these",
            wanted, languages->items[found[0]].code, second, count > 2 ? " and others" : "");
    }
    struct clf__suggestion nearest = clf__suggest_begin(wanted, (int)strnlen(wanted, MAX_CODE));
    for (int i = 0; i < languages->count; i++) {
        clf__suggest_try(&nearest, languages->items[i].code);
    }
    const char *best = nearest.best;
    return clf__fail(
        CLF_BAD_ARGUMENT,
        "\"%.40s\" is not one of the model's %d languages%s%.40s%s; run `clformer inspect` for the list",
        wanted, languages->count, best != NULL ? "; did you mean \"" : "", best != NULL ? best : "",
        best != NULL ? "\"?" : "");
}

clf_status clf__languages_find(const struct clf__language **out, const struct clf__languages *languages,
                               const char *wanted)
{
    if (languages->count == 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "this model has no language setting; remove the language \"%.40s\"", wanted);
    }
    int found[2], count = 0;
    struct parts parts = parts_of(wanted);
    for (int pass = 0; pass < 2; pass++) { /* the model's own codes take precedence over short codes */
        count = 0;
        for (int i = 0; i < languages->count; i++) {
            const char *code = languages->items[i].code;
            if (pass == 0 ? strcasecmp(code, wanted) == 0 : may_be(&parts, code)) {
                if (count < 2) {
                    found[count] = i;
                }
                count++;
            }
        }
        if (count == 1) {
            *out = &languages->items[found[0]];
            return CLF_OK;
        }
    }
    return fail(languages, wanted, found, count);
}
