#include "serve/endpoints.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/deepl.h"
#include "serve/detection.h"
#include "serve/detector.h"
#include "serve/file_request.h"
#include "serve/live_request.h"
#include "serve/page.h"
#include "serve/speech_routes.h"
#include "serve/suggestions.h"
#include "serve/translate_request.h"
#include "serve/v1_attention.h"
#include "serve/v1_translate.h"
#include "shared/results.h"

/* Makes an answer from a JSON value and releases it; NULL: out of memory. */
static struct answer answer_with(unsigned status, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(value);
    return (struct answer){.status = status, .text = text};
}

struct answer endpoints_error(unsigned status, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 overlooks va_start() */
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return (struct answer){.status = status, .error = strdup(message)};
}

char *answer_text(struct answer *answer)
{
    if (answer->error == NULL) {
        return answer->text;
    }
    const char *key = answer->error_key != NULL ? answer->error_key : "error";
    json_t *object = json_pack("{s:o}", key, result_text(answer->error, strlen(answer->error)));
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    free(answer->error);
    answer->error = NULL;
    return text;
}

static struct answer get_languages(struct service *service, const struct fields *fields)
{
    (void)fields;
    return answer_with(200, routes_list(service->routes));
}

/* The settings that LibreTranslate's clients read. The languages are the ones selected at first: the first
 * target, and "auto" or a source for that target. */
static struct answer get_settings(struct service *service, const struct fields *fields)
{
    (void)fields;
    const struct languages *languages = routes_languages(service->routes);
    const struct language *source = languages_only_source(languages), *target = NULL;
    for (int i = languages->count - 1; i >= 0; i--) {
        target = languages->items[i].is_target ? &languages->items[i] : target;
    }
    int has_auto = source != NULL || detector_exists();
    for (int i = 0; i < languages->count && source == NULL; i++) {
        struct route route;
        const struct language *language = &languages->items[i];
        source =
            language != target && routes_find(&route, service->routes, language, target) ? language : NULL;
    }
    static const struct language none = {.code = ""}; /* for a server with only speech models */
    source = source != NULL ? source : &none;
    target = target != NULL ? target : &none;
    int characters = service->limits.characters > 0 ? service->limits.characters : -1;
    return answer_with(200, json_pack("{s:b, s:i, s:b, s:i, s:b, s:{s:{s:s, s:s}, s:{s:s, s:s}}, s:b, s:o}",
                                      "apiKeys", clients_have_keys(service->clients), "charLimit", characters,
                                      "filesTranslation", 1, "frontendTimeout", 500, "keyRequired",
                                      clients_need_keys(service->clients), "language", "source", "code",
                                      has_auto ? "auto" : source->code, "name",
                                      has_auto ? "Auto Detect" : source->name, "target", "code", target->code,
                                      "name", target->name, "suggestions", service->suggestions != NULL,
                                      "supportedFilesFormat", file_extensions()));
}

static struct answer get_health(struct service *service, const struct fields *fields)
{
    (void)service, (void)fields;
    return answer_with(200, json_pack("{s:s}", "status", "ok"));
}

static struct answer get_ready(struct service *service, const struct fields *fields)
{
    (void)fields;
    return atomic_load(&service->is_stopping) ? answer_with(503, json_pack("{s:s}", "status", "stopping"))
                                              : answer_with(200, json_pack("{s:s}", "status", "ready"));
}

static struct answer get_metrics(struct service *service, const struct fields *fields)
{
    (void)fields;
    return (struct answer){
        .status = 200, .text = metrics_text(service), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

typedef struct answer endpoint(struct service *service, const struct fields *fields);

static const struct endpoint_route {
    const char *path;     /* a trailing slash: also matches longer paths */
    endpoint *get, *post; /* NULL: the method is not allowed */
    const char *error;    /* key of error messages */
    int needs_speech;     /* the path exists only with a speech model */
    int takes_bytes;      /* the body has no fields */
} routes[] = {
    {"/translate", NULL, translate_request, "error", 0, 0},
    {"/detect", NULL, detect_request, "error", 0, 0},
    {"/translate_file", NULL, file_translate, "error", 0, 0},
    {"/download_file/", file_download, NULL, "error", 0, 0},
    {"/suggest", NULL, suggestions_add, "error", 0, 0},
    {"/languages", get_languages, NULL, "error", 0, 0},
    {"/frontend/settings", get_settings, NULL, "error", 0, 0},
    {"/health", get_health, NULL, "error", 0, 0},
    {"/ready", get_ready, NULL, "error", 0, 0},
    {"/metrics", get_metrics, NULL, "error", 0, 0},
    {"/v1/translate", NULL, v1_translate, "error", 0, 0},
    {"/v1/attention", NULL, v1_attention, "error", 0, 0},
    {"/v1/transcribe/live", NULL, live_open, "error", 1, 0},
    {"/v1/transcribe/live/", live_read, live_send, "error", 1, 1},
    {"/v2/translate", NULL, deepl_translate, "message", 0, 0},
    {"/v2/languages", deepl_languages, deepl_languages, "message", 0, 0},
    {"/v2/usage", deepl_usage, deepl_usage, "message", 0, 0},
    {"/v3/languages", deepl_languages_v3, NULL, "message", 0, 0},
};

/* Returns the route of a path, or NULL. */
static const struct endpoint_route *find_route(const char **rest, const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        size_t size = strlen(routes[i].path);
        int continues = routes[i].path[size - 1] == '/';
        *rest = path + size;
        if (continues ? strncmp(path, routes[i].path, size) == 0 : strcmp(path, routes[i].path) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

/* Answers with a function of a route. The last parameters are those of endpoints_answer(). */
static struct answer call(struct service *service, struct MHD_Connection *connection, endpoint *called,
                          int takes_bytes, const char *method, const char *rest, const char *body,
                          size_t size)
{
    struct fields fields =
        takes_bytes ? fields_read(connection, "GET", NULL, 0) : fields_read(connection, method, body, size);
    fields.body = takes_bytes ? body : NULL;
    fields.body_size = takes_bytes ? size : 0;
    fields.rest = rest;
    struct answer answer =
        fields.problem != NULL ? endpoints_error(400, "%s", fields.problem) : called(service, &fields);
    fields_free(&fields);
    return answer;
}

/* Answers with a file of the web page. */
static struct answer get_file(const struct page_file *file, struct MHD_Connection *connection,
                              const char *method)
{
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        struct answer answer = endpoints_error(405, "Method Not Allowed");
        answer.allow = "GET, HEAD";
        return answer;
    }
    int is_known = page_is_known(file, connection);
    return (struct answer){.status = is_known ? 304 : 200,
                           .text = strdup(is_known ? "" : (const char *)file->text),
                           .type = is_known ? NULL : file->type,
                           .file = file};
}

const char *endpoints_name(const char *path)
{
    const char *rest;
    const struct endpoint_route *own = find_route(&rest, path);
    const struct speech_route *speech = own == NULL ? speech_route_find(path, &rest) : NULL;
    return own != NULL               ? own->path
           : speech != NULL          ? speech_route_name(speech)
           : page_find(path) != NULL ? "/"
                                     : "other";
}

struct answer endpoints_answer(struct service *service, struct MHD_Connection *connection, const char *method,
                               const char *path, const char *body, size_t size)
{
    const struct page_file *file = page_find(path);
    const char *rest;
    const struct endpoint_route *route = file == NULL ? find_route(&rest, path) : NULL;
    if (file != NULL) {
        return get_file(file, connection, method);
    }
    if (route == NULL || (route->get == get_metrics && service->metrics == NULL) ||
        (route->needs_speech && service->speech == NULL)) {
        return endpoints_error(404, "Not Found");
    }
    int is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    int is_post = strcmp(method, "POST") == 0;
    endpoint *called = is_get ? route->get : is_post ? route->post : NULL;
    if (called == NULL && service->cors != NULL && strcmp(method, "OPTIONS") == 0) {
        return (struct answer){.status = 200, .text = strdup("")}; /* a browser's preflight request */
    }
    struct answer answer =
        called != NULL ? call(service, connection, called, route->takes_bytes, method, rest, body, size)
                       : endpoints_error(405, "Method Not Allowed");
    if (called == NULL) {
        answer.allow = route->get == NULL ? "POST" : route->post == NULL ? "GET, HEAD" : "GET, HEAD, POST";
    }
    answer.error_key = route->error;
    return answer;
}
