#include "serve/translate_request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "serve/detection.h"
#include "serve/documents.h"
#include "serve/failures.h"
#include "serve/libretranslate_text.h"
#include "serve/q_field.h"
#include "serve/texts.h"
#include "shared/results.h"

enum { MOST_ALTERNATIVES = 5 };

/* The checked fields of a request. */
struct translation_request {
    json_t *array;               /* owned; the texts */
    struct documents *documents; /* owned; the texts as documents; NULL: plain texts */
    const char *format;          /* format of the request's file, the only document; NULL: q is translated */
    int is_array;                /* q was an array, so the answer is an array */
    int is_auto;
    double confidence; /* if is_auto: 0 to 100 */
    int alternatives;
    const struct language *source, *target;
    struct route route;
};

static int read_alternatives(struct translation_request *request, const struct fields *fields,
                             struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, "alternatives");
    double number = 0;
    if (json_is_number(value)) {
        number = trunc(json_number_value(value));
    } else if (json_is_string(value)) {
        char *end;
        const char *text = json_string_value(value);
        errno = 0;
        number = (double)strtoll(text, &end, 10);
        if (end == text || *end != '\0') {
            number = NAN;
        }
    } else if (value != NULL && !json_is_null(value)) {
        number = NAN;
    }
    if (isnan(number)) {
        *answer = endpoints_error(400, "Invalid request: alternatives parameter is not a number");
    } else if (number > MOST_ALTERNATIVES) {
        *answer =
            endpoints_error(400, "Invalid request: alternatives parameter must be <= %d", MOST_ALTERNATIVES);
    } else {
        request->alternatives = number > 0 ? (int)number : 0;
    }
    return number <= MOST_ALTERNATIVES; /* not NaN */
}

/* The texts to translate. */
static const json_t *contents(const struct translation_request *request)
{
    return request->documents != NULL ? documents_texts(request->documents) : request->array;
}

static int find_languages(struct translation_request *request, const struct service *service,
                          const struct fields *fields, struct answer *answer)
{
    const char *source = json_string_value(json_object_get(fields->object, "source"));
    const char *target = json_string_value(json_object_get(fields->object, "target"));
    request->is_auto = strcasecmp(source, "auto") == 0;
    if (request->is_auto) {
        request->source = detection_source(&request->confidence, service->routes, contents(request), answer);
    } else {
        request->source = routes_get(service->routes, source);
        if (request->source == NULL) {
            *answer = field_refuse_code(source);
        }
    }
    if (request->source == NULL) {
        return 0;
    }
    request->target = routes_get(service->routes, target);
    if (request->target == NULL) {
        *answer = field_refuse_code(target);
    }
    return request->target != NULL;
}

static int is_html(const struct fields *fields)
{
    const json_t *format = json_object_get(fields->object, "format");
    return documents_has_format("html") && json_is_string(format) &&
           strcmp(json_string_value(format), "html") == 0;
}

static int check_format(const struct fields *fields, struct answer *answer)
{
    const json_t *format = json_object_get(fields->object, "format");
    if (field_is_empty(format) || is_html(fields) ||
        (json_is_string(format) && strcmp(json_string_value(format), "text") == 0)) {
        return 1;
    }
    if (!json_is_string(format)) {
        *answer = endpoints_error(400, "Invalid request: format parameter is not a string");
        return 0;
    }
    const char *word = json_string_value(format);
    *answer = endpoints_error(400, "%.*s format is not supported", (int)field_shown_size(word), word);
    return 0;
}

static int find_route(struct translation_request *request, const struct service *service,
                      struct answer *answer)
{
    const struct language *source = request->source, *target = request->target;
    if (routes_find(&request->route, service->routes, source, target)) {
        return 1;
    }
    *answer = endpoints_error(400, "%s (%s) is not available as a target language from %s (%s)", target->name,
                              target->code, source->name, source->code);
    return 0;
}

/* Finds the file of the server that a field names. Returns 0 after setting the answer. */
static int find_named(const struct named_file **out, const struct named_files *files,
                      const struct fields *fields, const char *field, struct answer *answer)
{
    const json_t *value = json_object_get(fields->object, field);
    const char *name = json_string_value(value);
    *out = NULL;
    if (field_is_empty(value)) {
        return 1;
    }
    *out = name != NULL ? named_files_find(files, name) : NULL;
    if (*out == NULL) {
        *answer = endpoints_error(400, "Invalid request: %s: the server was not started with --%s %.*s=FILE",
                                  field, strcmp(field, "memory") == 0 ? "memory" : "do-not-translate",
                                  name != NULL ? (int)field_shown_size(name) : 0, name != NULL ? name : "");
    }
    return *out != NULL;
}

/* Reads the fields that only files have. */
static int read_file_fields(struct documents_file *out, const struct service *service,
                            const struct fields *fields, struct answer *answer)
{
    const struct named_file *memory, *terms;
    const json_t *encoding = json_object_get(fields->object, "encoding");
    const char *source = json_string_value(json_object_get(fields->object, "source"));
    if (!find_named(&memory, &service->memories, fields, "memory", answer) ||
        !find_named(&terms, &service->term_lists, fields, "do_not_translate", answer)) {
        return 0;
    }
    out->encoding = field_is_empty(encoding) ? NULL : json_string_value(encoding);
    out->kept_terms = terms != NULL ? terms->bytes : NULL;
    out->memory = memory != NULL ? memory->bytes : NULL;
    out->memory_size = memory != NULL ? memory->size : 0;
    out->source = source != NULL && strcmp(source, "auto") != 0 ? source : NULL;
    out->target = json_string_value(json_object_get(fields->object, "target"));
    return 1;
}

/* Finds the texts of documents; refuses a request with too many. */
static int read_documents(struct translation_request *request, const struct service *service,
                          const struct fields *fields, struct answer *answer)
{
    clf_status status = CLF_OK;
    if (request->format != NULL) {
        struct documents_file file = {.format = request->format};
        if (!read_file_fields(&file, service, fields, answer)) {
            return 0;
        }
        status = documents_read_file(&request->documents, fields->file, fields->file_size, &file,
                                     TEXTS_MOST_LINES);
    } else if (is_html(fields)) {
        status = documents_read(&request->documents, request->array, "html", TEXTS_MOST_LINES, NULL);
    }
    if (status == CLF_UNSUPPORTED && request->format == NULL) {
        *answer = endpoints_error(400, "Invalid request: request exceeds line limit (%d)", TEXTS_MOST_LINES);
    } else if (status != CLF_OK) {
        *answer = status == CLF_OUT_OF_MEMORY ? endpoints_error(500, "out of memory")
                                              : endpoints_error(400, "Invalid request: %s", clf_last_error());
    }
    return status == CLF_OK;
}

/* Checks the characters of a file's texts against the limit of a request. */
static int file_is_admitted(const struct translation_request *request, const struct service *service,
                            struct answer *answer)
{
    size_t most = (size_t)service->limits.characters, count = q_field_characters(contents(request));
    if (most > 0 && count > most) {
        *answer =
            endpoints_error(400, "Invalid request: request (%zu) exceeds text limit (%zu)", count, most);
        return 0;
    }
    return 1;
}

/* Reads the texts of q, or of the file. */
static int read_texts(struct translation_request *request, const struct service *service,
                      const struct fields *fields, struct answer *answer)
{
    if (request->format != NULL) {
        return read_documents(request, service, fields, answer) && file_is_admitted(request, service, answer);
    }
    return texts_are_admitted(request->array, request->is_array, service, answer) &&
           read_documents(request, service, fields, answer);
}

/* Checks the fields in LibreTranslate's order. */
static int read_request(struct translation_request *request, const struct service *service,
                        const struct fields *fields, struct answer *answer)
{
    if (!request_is_admitted(service, fields, answer)) {
        return 0;
    }
    request->array =
        request->format != NULL ? json_array() : q_field_read(&request->is_array, fields, answer);
    if (request->array == NULL || !field_is_text(fields, "source", answer) ||
        !field_is_text(fields, "target", answer) || !read_alternatives(request, fields, answer)) {
        return 0;
    }
    return read_texts(request, service, fields, answer) && find_languages(request, service, fields, answer) &&
           check_format(fields, answer) && find_route(request, service, answer);
}

/* The result for the texts, or for the only text of a request whose q is a string. */
static json_t *shaped(const struct translation_request *request, json_t *array)
{
    return request->is_array ? json_incref(array) : json_incref(json_array_get(array, 0));
}

/* No alternatives for any text. */
static json_t *empty_lists(const struct translation_request *request)
{
    json_t *lists = json_array();
    for (size_t i = 0; i < json_array_size(request->array) && lists != NULL; i++) {
        lists = result_append(lists, json_array());
    }
    return lists;
}

static json_t *detected(const struct translation_request *request)
{
    json_t *array = json_array();
    for (size_t i = 0; i < json_array_size(request->array); i++) {
        json_array_append_new(array, json_pack("{s:f, s:s}", "confidence", request->confidence, "language",
                                               request->source->code));
    }
    json_t *result = shaped(request, array);
    json_decref(array);
    return result;
}

/* Applies LibreTranslate's changes to the translations of plain texts. */
static json_t *change_texts(json_t *translations, const json_t *texts)
{
    json_t *changed = json_array();
    for (size_t i = 0; i < json_array_size(translations) && changed != NULL; i++) {
        changed = result_append(
            changed, libretranslate_text(json_array_get(texts, i), json_array_get(translations, i)));
    }
    json_decref(translations);
    return changed;
}

/* A file with its translations. */
struct file {
    char *bytes; /* (size) clf_string_free() frees it */
    size_t size;
};

/* Translates the texts, and finds alternatives if they are requested.
 *
 * @param file receives the translated file of a request with `format`. */
static clf_status translate_texts(json_t **best, json_t **others, struct file *file,
                                  const struct service *service, const struct translation_request *request)
{
    const struct route *route = &request->route;
    struct marks marks = {.count = 0};
    if (request->documents != NULL && !marks_copy(&marks, documents_marks(request->documents))) {
        return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the markup of a request");
    }
    const struct texts texts = {contents(request), route, &marks};
    json_t *before = NULL;
    clf_status status = texts_translate(best, &before, &texts);
    if (status == CLF_OK && request->alternatives > 0) {
        if (route->count == 0 || request->documents != NULL) {
            *others = empty_lists(request);
        } else {
            const struct hop *last = &route->hops[route->count - 1];
            status = texts_alternatives(others, before, last, request->alternatives, *best);
        }
    }
    json_decref(before);
    int is_plain =
        request->documents == NULL || (request->format != NULL && strcmp(request->format, "text") == 0);
    if (status == CLF_OK && service->changes_text && is_plain) {
        *best = change_texts(*best, contents(request));
    }
    if (status == CLF_OK && request->format != NULL) {
        status = documents_write_file(&file->bytes, &file->size, request->documents, *best, &marks);
    } else if (status == CLF_OK && request->documents != NULL) {
        json_t *translations = *best;
        *best = documents_join(request->documents, translations, &marks);
        json_decref(translations);
    }
    marks_free(&marks);
    return status;
}

/* Translates the texts and, if requested, finds alternatives. Returns 1, or 0 after setting the answer. */
static int translate(json_t **best, json_t **others, struct file *file, struct service *service,
                     const struct translation_request *request, struct answer *answer)
{
    int64_t tokens = texts_estimate_tokens(contents(request));
    *best = *others = NULL;
    /* After status 503 or 429, Weblate stops using a server for half an hour. */
    if (!service_enter(service, tokens, 504, answer)) {
        return 0;
    }
    clf_status status = translate_texts(best, others, file, service, request);
    service_leave(service, tokens);
    if (status != CLF_OK) {
        *answer = failure_answer(service, status);
        json_decref(*best);
        json_decref(*others);
        return 0;
    }
    return 1;
}

static struct answer run(struct service *service, const struct translation_request *request)
{
    json_t *best, *others;
    struct answer answer;
    if (!translate(&best, &others, NULL, service, request, &answer)) {
        return answer;
    }
    json_t *object = json_pack("{s:o}", "translatedText", shaped(request, best));
    if (object != NULL && request->is_auto) {
        json_object_set_new(object, "detectedLanguage", detected(request));
    }
    if (object != NULL && others != NULL) {
        json_object_set_new(object, "alternatives", shaped(request, others));
    }
    answer = (struct answer){
        .status = 200, .text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL};
    json_decref(object);
    json_decref(others);
    json_decref(best);
    return answer;
}

static void free_request(struct translation_request *request)
{
    documents_free(request->documents);
    json_decref(request->array);
}

struct answer translate_request(struct service *service, const struct fields *fields)
{
    struct translation_request request = {.array = NULL};
    struct answer answer;
    if (read_request(&request, service, fields, &answer)) {
        answer = run(service, &request);
        answer.characters = q_field_characters(request.array);
    }
    free_request(&request);
    return answer;
}

char *translate_file(size_t *size, size_t *characters, struct service *service, const struct fields *fields,
                     const char *format, struct answer *answer)
{
    struct translation_request request = {.format = format};
    struct file file = {.bytes = NULL};
    json_t *best = NULL, *others = NULL;
    *characters = 0;
    if (read_request(&request, service, fields, answer)) {
        *characters = q_field_characters(contents(&request));
        if (translate(&best, &others, &file, service, &request, answer)) {
            json_decref(best);
            json_decref(others);
        }
    }
    free_request(&request);
    *size = file.size;
    return file.bytes;
}
