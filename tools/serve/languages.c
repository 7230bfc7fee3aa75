#include "serve/languages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <unicode/uloc.h>
#include <unicode/ustring.h>

#include "base/json.h"
#include "base/status.h"
#include "model/model.h"
#include "text/tokenizers/tokenizer_internal.h"

/* A language begins with 2 or 3 lower-case letters, its script and region with a capital letter or a digit.
 */
static int starts_language(const char *text, const char *end)
{
    size_t letters = 0;
    while (text + letters < end && islower((unsigned char)text[letters])) {
        letters++;
    }
    return (letters == 2 || letters == 3) && (text + letters == end || strchr("-_", text[letters]) != NULL);
}

const char *language_pair_parse(struct language_pair *out, const char *text)
{
    const char *colon = strchr(text, ':');
    *out = (struct language_pair){.source = ""};
    if (colon == NULL || memchr(text, '/', (size_t)(colon - text)) != NULL || !starts_language(text, colon)) {
        return text;
    }
    for (const char *dash = text; (dash = memchr(dash, '-', (size_t)(colon - dash))) != NULL; dash++) {
        size_t source = (size_t)(dash - text), target = (size_t)(colon - dash - 1);
        if (starts_language(dash + 1, colon) && source < sizeof out->source && target < sizeof out->target) {
            memcpy(out->source, text, source);
            memcpy(out->target, dash + 1, target);
            return colon + 1;
        }
    }
    return text;
}

/* Writes the code that clients use: "fr" for fra_Latn. If `is_long`, with script or region: zh-Hans. */
static void write_code(char *out, const char *code, int is_long)
{
    UErrorCode failed[3] = {U_ZERO_ERROR, U_ZERO_ERROR, U_ZERO_ERROR};
    char language[ULOC_LANG_CAPACITY], script[ULOC_SCRIPT_CAPACITY], region[ULOC_COUNTRY_CAPACITY];
    uloc_getLanguage(code, language, sizeof language, &failed[0]);
    uloc_getScript(code, script, sizeof script, &failed[1]);
    uloc_getCountry(code, region, sizeof region, &failed[2]);
    for (int i = 0; i < 3; i++) {
        if (U_FAILURE(failed[i]) || failed[i] == U_STRING_NOT_TERMINATED_WARNING) {
            snprintf(out, LANGUAGE_CODE_BYTES, "%s", code);
            return;
        }
    }
    const char *more = !is_long || strcmp(region, "XX") == 0 ? "" : *script != '\0' ? script : region;
    snprintf(out, LANGUAGE_CODE_BYTES, "%s%s%s", *language != '\0' ? language : code,
             *more != '\0' ? "-" : "", more);
}

static void write_name(struct language *language)
{
    UErrorCode failed = U_ZERO_ERROR;
    UChar name[LANGUAGE_NAME_BYTES / 3];
    int32_t length = uloc_getDisplayName(language->code, "en", name, LANGUAGE_NAME_BYTES / 3 - 1, &failed);
    if (U_SUCCESS(failed) && length < LANGUAGE_NAME_BYTES / 3) {
        u_strToUTF8(language->name, sizeof language->name, NULL, name, length, &failed);
    }
    if (U_FAILURE(failed)) {
        snprintf(language->name, sizeof language->name, "%s", language->code);
    }
}

/* Adds a language; the code of a pair that the user typed keeps its script or region. */
static void add(struct languages *languages, const char *code, int is_typed, struct language language)
{
    struct language *added = &languages->items[languages->count++];
    *added = language;
    write_code(added->code, code, is_typed);
}

static int compare(const void *one, const void *other)
{
    const struct language *a = one, *b = other;
    int is_english = (strcmp(b->code, "en") == 0) - (strcmp(a->code, "en") == 0);
    return is_english != 0                 ? is_english
           : strcmp(a->name, b->name) != 0 ? strcmp(a->name, b->name)
                                           : strcmp(a->code, b->code);
}

void languages_sort(struct languages *languages)
{
    if (languages->count > 0) { /* otherwise `items` may be NULL */
        qsort(languages->items, (size_t)languages->count, sizeof *languages->items, compare);
    }
}

/* Gives languages that differ in script or region different codes, then adds names and sorts. */
static void finish(struct languages *languages)
{
    for (int i = 0; i < languages->count; i++) {
        int is_shared = 0;
        for (int j = 0; j < languages->count; j++) {
            is_shared |= j != i && strncmp(languages->items[i].code, languages->items[j].code,
                                           strcspn(languages->items[i].code, "-") + 1) == 0;
        }
        const char *code = languages->items[i].model_code;
        languages->items[i].name[0] = (char)(is_shared && code != NULL);
    }
    for (int i = 0; i < languages->count; i++) {
        struct language *language = &languages->items[i];
        if (language->name[0] != '\0') {
            write_code(language->code, language->model_code, 1);
        }
        write_name(language);
    }
    languages_sort(languages);
}

/* Adds the languages of the model's vocabulary. */
static clf_status add_own(struct languages *languages)
{
    const struct clf__tokenizer *tokenizer = languages->model->tokenizer;
    int takes_source = clf__tokenizer_needs_target(tokenizer);
    const char *source = clf__tokenizer_source_language(tokenizer);
    if (!takes_source && source == NULL) {
        return CLF_BAD_ARGUMENT;
    }
    for (int i = 0; i < clf__tokenizer_languages(tokenizer); i++) {
        const char *code = clf__tokenizer_language(tokenizer, i);
        add(languages, code, 0,
            (struct language){.model_code = code, .is_source = takes_source, .is_target = 1});
    }
    if (!takes_source) {
        add(languages, source, 0, (struct language){.is_source = 1});
    }
    return CLF_OK;
}

/* Adds two languages; a model with languages in its vocabulary must have the target, and the source if it
 * takes one. */
static clf_status add_pair(struct languages *languages, const char *source, const char *target)
{
    const struct clf__tokenizer *tokenizer = languages->model->tokenizer;
    const struct clf__language *found[2] = {NULL, NULL};
    if (clf__tokenizer_needs_target(tokenizer)) {
        CLF__TRY(clf__languages_find(&found[0], &tokenizer->languages, source));
    }
    if (clf__tokenizer_languages(tokenizer) > 0) {
        CLF__TRY(clf__languages_find(&found[1], &tokenizer->languages, target));
    }
    add(languages, source, 1,
        (struct language){.model_code = found[0] != NULL ? found[0]->code : NULL, .is_source = 1});
    add(languages, target, 1,
        (struct language){.model_code = found[1] != NULL ? found[1]->code : NULL, .is_target = 1});
    return CLF_OK;
}

/* Adds the languages that tokenizer_config.json of a bilingual model names. */
static clf_status add_configured(struct languages *languages)
{
    struct clf__json config;
    const char *source = NULL, *target = NULL;
    CLF__TRY(clf__json_find_in(&config, languages->model->folder, "tokenizer_config.json"));
    clf_status status = CLF_OK;
    if (config.root != NULL) {
        status = clf__json_string(&config, "source_lang", &source);
        status = status == CLF_OK ? clf__json_string(&config, "target_lang", &target) : status;
    }
    if (status == CLF_OK && (source == NULL || target == NULL)) {
        status = CLF_BAD_ARGUMENT;
    }
    status = status == CLF_OK ? add_pair(languages, source, target) : status;
    clf__json_free(&config);
    return status;
}

clf_status languages_find(struct languages *out, const struct clf_model *model,
                          const struct language_pair *pair)
{
    int own = clf__tokenizer_languages(model->tokenizer), is_given = *pair->source != '\0';
    *out = (struct languages){.model = model, .items = calloc((size_t)own + 2, sizeof *out->items)};
    if (out->items == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d languages", own);
    }
    const char *source = model->tokenizer->source_language, *target = model->tokenizer->target_language;
    int is_named = source != NULL && target != NULL; /* as in a package of Argos Translate */
    clf_status status = is_given             ? add_pair(out, pair->source, pair->target)
                        : own > 0            ? add_own(out)
                        : is_named           ? add_pair(out, source, target)
                        : !model->is_package ? add_configured(out)
                                             : CLF_BAD_ARGUMENT;
    if (status == CLF_BAD_ARGUMENT && !is_given) {
        status = clf__fail(CLF_BAD_ARGUMENT,
                           "%s: does not name its languages; put them before the model, such as -m fr-en:%s",
                           model->folder, model->folder);
    }
    finish(out);
    return status;
}

void languages_free(struct languages *languages)
{
    free(languages->items);
    *languages = (struct languages){.items = NULL};
}

static const struct language *find_code(const struct languages *languages, const char *code)
{
    for (int i = 0; i < languages->count; i++) {
        const struct language *language = &languages->items[i];
        if (strcasecmp(language->code, code) == 0 ||
            (language->model_code != NULL && strcasecmp(language->model_code, code) == 0)) {
            return language;
        }
    }
    return NULL;
}

const struct language *languages_get(const struct languages *languages, const char *code)
{
    static const char *const aliases[][2] = {{"pb", "pt-BR"}, {"zh", "zh-Hans"}, {"zt", "zh-Hant"}};
    const struct language *language = find_code(languages, code);
    for (size_t i = 0; i < 2 * sizeof aliases / sizeof *aliases && language == NULL; i++) {
        const char *alias = aliases[i / 2][i % 2];
        language = strcasecmp(alias, code) == 0 ? find_code(languages, aliases[i / 2][1 - i % 2]) : NULL;
    }
    const struct clf__language *own;
    const struct clf_model *model = languages->model;
    if (language == NULL && model != NULL && model->tokenizer->languages.count > 0 &&
        clf__languages_find(&own, &model->tokenizer->languages, code) == CLF_OK) {
        language = find_code(languages, own->code);
    }
    return language;
}

const struct language *languages_only_source(const struct languages *languages)
{
    const struct language *only = NULL;
    for (int i = 0; i < languages->count; i++) {
        if (languages->items[i].is_source) {
            if (only != NULL) {
                return NULL;
            }
            only = &languages->items[i];
        }
    }
    return only;
}
