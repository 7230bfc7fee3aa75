#include "serve/deepl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "base/utf8.h"
#include "serve/detection.h"
#include "serve/documents.h"
#include "serve/failures.h"
#include "serve/q_field.h"
#include "serve/texts.h"
#include "shared/results.h"

/* A checked request. */
struct deepl_request {
    json_t *texts;          /* owned; an array of strings */
    struct documents *html; /* owned; NULL: plain text */
    const struct language *source, *target;
    int is_detected;
    struct route route;
};

static struct answer answer_of(unsigned status, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return (struct answer){.status = status, .text = text};
}

/* Returns the language with a DeepL code, ignoring case; EN-US is English if the server has no American
 * English. */
static const struct language *find_language(const struct service *service, const char *code)
{
    char base[LANGUAGE_CODE_BYTES];
    const struct language *language = routes_get(service->routes, code);
    snprintf(base, sizeof base, "%.*s", (int)strcspn(code, "-_"), code);
    return language != NULL ? language : routes_get(service->routes, base);
}

static void write_upper(char out[LANGUAGE_CODE_BYTES], const char *code)
{
    size_t i = 0;
    for (; code[i] != '\0' && i < LANGUAGE_CODE_BYTES - 1; i++) {
        out[i] = (char)toupper((unsigned char)code[i]);
    }
    out[i] = '\0';
}

static int read_texts(struct deepl_request *request, const struct fields *fields, struct answer *answer)
{
    json_t *text = json_object_get(fields->object, "text");
    request->texts = json_is_array(text)    ? json_copy(text)
                     : json_is_string(text) ? json_pack("[O]", text)
                                            : NULL;
    int is_ok = json_array_size(request->texts) > 0;
    for (size_t i = 0; i < json_array_size(request->texts); i++) {
        is_ok &= json_is_string(json_array_get(request->texts, i));
    }
    if (!is_ok) {
        *answer = endpoints_error(400, "Parameter 'text' not specified.");
    }
    return is_ok;
}

static int read_languages(struct deepl_request *request, const struct service *service,
                          const struct fields *fields, struct answer *answer)
{
    const char *source = json_string_value(json_object_get(fields->object, "source_lang"));
    const char *target = json_string_value(json_object_get(fields->object, "target_lang"));
    double confidence;
    request->target = target != NULL ? find_language(service, target) : NULL;
    if (request->target == NULL) {
        *answer = endpoints_error(400, target != NULL ? "Value for 'target_lang' not supported."
                                                      : "Parameter 'target_lang' not specified.");
        return 0;
    }
    request->is_detected = source == NULL || *source == '\0';
    if (request->is_detected) {
        const json_t *texts = request->html != NULL ? documents_texts(request->html) : request->texts;
        request->source = detection_source(&confidence, service->routes, texts, answer);
    } else {
        request->source = find_language(service, source);
        if (request->source == NULL) {
            *answer = endpoints_error(400, "Value for 'source_lang' not supported.");
        }
    }
    if (request->source == NULL) {
        return 0;
    }
    if (!routes_find(&request->route, service->routes, request->source, request->target)) {
        *answer = endpoints_error(400, "No model translates %s to %s.", request->source->name,
                                  request->target->name);
        return 0;
    }
    return 1;
}

/* Reads the texts as HTML or XML if the request sets tag_handling. */
static int read_tags(struct deepl_request *request, const struct fields *fields, struct answer *answer)
{
    const json_t *handling = json_object_get(fields->object, "tag_handling");
    const json_t *ignored = json_object_get(fields->object, "ignore_tags");
    const char *word = json_string_value(handling);
    if (field_is_empty(handling)) {
        return 1;
    }
    if (word == NULL || (strcmp(word, "html") != 0 && strcmp(word, "xml") != 0) ||
        !documents_has_format("html")) {
        *answer = endpoints_error(400, "Value for 'tag_handling' not supported.");
        return 0;
    }
    json_t *names = json_is_string(ignored) ? json_pack("[O]", ignored) : json_incref((json_t *)ignored);
    clf_status status = documents_read(&request->html, request->texts, "html", TEXTS_MOST_LINES, names);
    json_decref(names);
    if (status != CLF_OK) {
        *answer = status == CLF_UNSUPPORTED
                      ? endpoints_error(413, "The request has more than %d lines.", TEXTS_MOST_LINES)
                      : endpoints_error(500, "out of memory");
        return 0;
    }
    return 1;
}

static int is_admitted(const struct service *service, const struct fields *fields, struct answer *answer)
{
    int limit = 0;
    switch (request_admit(&limit, service, fields)) {
    case CLIENT_IS_ADMITTED:
        return 1;
    case CLIENT_HAS_WRONG_KEY:
    case CLIENT_LACKS_KEY:
        *answer = endpoints_error(403, "Invalid auth key.");
        break;
    case CLIENT_IS_TOO_FAST:
        *answer = endpoints_error(429, "Too many requests: at most %d per minute.", limit);
        break;
    }
    return 0;
}

static int read_request(struct deepl_request *request, const struct service *service,
                        const struct fields *fields, struct answer *answer)
{
    return is_admitted(service, fields, answer) && read_texts(request, fields, answer) &&
           texts_are_admitted(request->texts, 1, service, answer) && read_tags(request, fields, answer) &&
           read_languages(request, service, fields, answer);
}

static clf_status translate(json_t **out, const struct deepl_request *request)
{
    const json_t *texts = request->html != NULL ? documents_texts(request->html) : request->texts;
    struct marks marks = {.count = 0};
    if (request->html != NULL && !marks_copy(&marks, documents_marks(request->html))) {
        return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the markup of a request");
    }
    clf_status status = texts_translate(out, NULL, &(struct texts){texts, &request->route, &marks});
    if (status == CLF_OK && request->html != NULL) {
        json_t *translations = *out;
        *out = documents_join(request->html, translations, &marks);
        json_decref(translations);
    }
    marks_free(&marks);
    return status;
}

/* deepl-python always requests the number of characters of each text, and requires it. */
static json_t *list_translations(const struct deepl_request *request, const json_t *translated,
                                 int with_characters)
{
    char source[LANGUAGE_CODE_BYTES];
    json_t *list = json_array();
    write_upper(source, request->source->code);
    source[strcspn(source, "-")] = '\0';
    for (size_t i = 0; i < json_array_size(translated) && list != NULL; i++) {
        const json_t *text = json_array_get(request->texts, i);
        json_t *object = json_pack("{s:s, s:O}", "detected_source_language", source, "text",
                                   json_array_get(translated, i));
        if (object != NULL && with_characters) {
            size_t characters = clf__utf8_count(json_string_value(text), json_string_length(text));
            json_object_set_new(object, "billed_characters", json_integer((json_int_t)characters));
        }
        list = result_append(list, object);
    }
    return list;
}

static struct answer run(struct service *service, const struct deepl_request *request, int with_characters)
{
    json_t *translated = NULL;
    int64_t tokens = texts_estimate_tokens(request->texts);
    struct answer answer;
    /* After status 503 or 429, Weblate stops using a server for half an hour. */
    if (!service_enter(service, tokens, 504, &answer)) {
        return answer;
    }
    clf_status status = translate(&translated, request);
    service_leave(service, tokens);
    if (status != CLF_OK) {
        return failure_answer(service, status);
    }
    json_t *list = translated != NULL ? list_translations(request, translated, with_characters) : NULL;
    json_decref(translated);
    return answer_of(200, list != NULL ? json_pack("{s:o}", "translations", list) : NULL);
}

static int is_true(const json_t *value)
{
    const char *word = json_string_value(value);
    return json_is_true(value) || (word != NULL && (strcmp(word, "1") == 0 || strcasecmp(word, "true") == 0));
}

struct answer deepl_translate(struct service *service, const struct fields *fields)
{
    struct deepl_request request = {.texts = NULL};
    struct answer answer;
    if (read_request(&request, service, fields, &answer)) {
        answer = run(service, &request, is_true(json_object_get(fields->object, "show_billed_characters")));
        answer.characters = q_field_characters(request.texts);
    }
    documents_free(request.html);
    json_decref(request.texts);
    return answer;
}

struct answer deepl_languages(struct service *service, const struct fields *fields)
{
    const struct languages *languages = routes_languages(service->routes);
    const char *type = json_string_value(json_object_get(fields->object, "type"));
    int is_target = type != NULL && strcmp(type, "target") == 0;
    json_t *list = json_array();
    for (int i = 0; i < languages->count && list != NULL; i++) {
        const struct language *language = &languages->items[i];
        char code[LANGUAGE_CODE_BYTES];
        write_upper(code, language->code);
        if (is_target ? language->is_target : language->is_source) {
            list = result_append(list, json_pack("{s:s, s:s, s:b}", "language", code, "name", language->name,
                                                 "supports_formality", 0));
        }
    }
    return answer_of(200, list);
}

struct answer deepl_usage(struct service *service, const struct fields *fields)
{
    static const json_int_t no_limit = 1000000000000; /* DeepL's value for a plan without a limit */
    (void)fields;
    json_int_t characters = atomic_load(&service->characters);
    return answer_of(200,
                     json_pack("{s:I, s:I}", "character_count", characters, "character_limit", no_limit));
}

struct answer deepl_languages_v3(struct service *service, const struct fields *fields)
{
    const struct languages *languages = routes_languages(service->routes);
    const char *resource = json_string_value(json_object_get(fields->object, "resource"));
    json_t *list = json_array();
    if (resource == NULL || strcmp(resource, "translate_text") != 0) {
        json_decref(list);
        return endpoints_error(404, "resource: only translate_text is available");
    }
    for (int i = 0; i < languages->count && list != NULL; i++) {
        const struct language *language = &languages->items[i];
        list = result_append(list, json_pack("{s:s, s:b, s:b, s:{}}", "lang", language->code,
                                             "usable_as_source", language->is_source, "usable_as_target",
                                             language->is_target, "features"));
    }
    return answer_of(200, list);
}
