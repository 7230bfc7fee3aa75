#include "text/languages.h"

#include <string.h>
#include <strings.h>

#include <unicode/uloc.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "text/classes/class.h"
#include "text/vocabulary.h"

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

clf_status clf__languages_collect(struct clf__languages *out, const struct clf__vocabulary *vocabulary,
                                  const struct clf__tokenizer_class *of)
{
    if (of == NULL || of->place == CLF__LANGUAGE_NOWHERE) {
        return CLF_OK;
    }
    size_t opens = strlen(of->language_opens), closes = strlen(of->language_closes);
    for (int32_t id = 0; id < vocabulary->size; id++) {
        const char *piece = vocabulary->pieces[id];
        if ((!of->finds_languages && (vocabulary->marks[id] & CLF__PIECE_LANGUAGE) == 0) ||
            strncmp(piece, of->language_opens, opens) != 0) {
            continue;
        }
        size_t length = strlen(piece);
        if (length > opens + closes && strcmp(piece + length - closes, of->language_closes) == 0) {
            CLF__TRY(add(out, piece + opens, length - opens - closes, id));
        }
    }
    return CLF_OK;
}

/* ISO 639-3 has a code for the whole of a language and others for its members; models of many languages take
 * the most spoken member, and people write the whole's short code. */
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

/* A code in its shortest form: its language, and what follows it with a low line between. */
struct parts {
    char language[MAX_CODE], rest[MAX_CODE];
};

static struct parts parts_of(const char *code)
{
    struct parts parts = {{0}, {0}};
    char whole[MAX_CODE] = {0};
    size_t length = strcspn(code, "-_");
    if (length >= sizeof whole || strlen(code) >= sizeof parts.rest) {
        return parts; /* no code of a language is so long: it is like no other */
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

void clf__language_shorten(char short_code[CLF__LANGUAGE_BYTES], const char *code)
{
    struct parts parts = parts_of(code);
    memcpy(short_code, parts.language, sizeof parts.language);
}

/* Whether a model's code may be what is wanted; what is not said of script and country may be anything. */
static int may_be(const struct parts *wanted, const char *code)
{
    struct parts parts = parts_of(code);
    return wanted->language[0] != '\0' && strcasecmp(parts.language, wanted->language) == 0 &&
           (wanted->rest[0] == '\0' || strcasecmp(parts.rest, wanted->rest) == 0);
}

/* Says that there are several, or which one is near. */
static clf_status fail(const struct clf__languages *languages, const char *wanted, const int *found,
                       int count)
{
    if (count > 0) {
        const char *second = count > 1 ? languages->items[found[1]].code : "";
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "\"%.40s\" can be several of the model's languages: \"%.40s\", \"%.40s\"%s; say which", wanted,
            languages->items[found[0]].code, second, count > 2 ? " and others" : "");
    }
    struct clf__nearest nearest = clf__nearest_begin(wanted, (int)strnlen(wanted, MAX_CODE));
    for (int i = 0; i < languages->count; i++) {
        clf__nearest_try(&nearest, languages->items[i].code);
    }
    const char *best = nearest.best;
    return clf__fail(CLF_BAD_ARGUMENT,
                     "\"%.40s\" is none of the model's %d languages%s%.40s%s; "
                     "`clformer inspect` lists them",
                     wanted, languages->count, best != NULL ? "; did you mean \"" : "",
                     best != NULL ? best : "", best != NULL ? "\"?" : "");
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
    for (int pass = 0; pass < 2; pass++) { /* its own codes go first */
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
