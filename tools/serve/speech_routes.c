#include "serve/speech_routes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "serve/asr.h"
#include "serve/client.h"
#include "serve/openai.h"
#include "serve/whisper_cpp.h"

typedef struct answer endpoint(struct service *service, struct speech_request *request);

/* Either `get` or `post` is set. */
struct speech_route {
    const char *path, *prefix; /* the prefix may precede the path */
    int has_rest;              /* the path is a prefix */
    const char *part;          /* field of the recording */
    endpoint *get, *post;
    struct answer (*problem)(unsigned status, const char *message); /* an error in the API's format */
};

static const struct speech_route routes[] = {
    {"/v1/audio/transcriptions", "/openai", 0, "file", NULL, openai_transcribe, openai_problem},
    {"/v1/audio/translations", "/openai", 0, "file", NULL, openai_translate, openai_problem},
    {"/v1/models", "/openai", 1, NULL, openai_models, NULL, openai_problem},
    {"/inference", "/whisper", 0, "file", NULL, whisper_cpp_infer, whisper_cpp_problem},
    {"/load", "/whisper", 0, "file", NULL, whisper_cpp_load, whisper_cpp_problem},
    {"/asr", "/asr-api", 0, "audio_file", NULL, asr_transcribe, asr_problem},
    {"/detect-language", "/asr-api", 0, "audio_file", NULL, asr_detect_language, asr_problem},
};

static int matches(const struct speech_route *route, const char *path, const char **rest)
{
    size_t size = strlen(route->path);
    if (strncmp(path, route->path, size) != 0 || (path[size] != '\0' && path[size] != '/')) {
        return 0;
    }
    *rest = path + size + (path[size] == '/');
    return **rest == '\0' || route->has_rest;
}

const struct speech_route *speech_route_find(const char *path, const char **rest)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const struct speech_route *route = &routes[i];
        size_t prefix = strlen(route->prefix);
        if (matches(route, path, rest) ||
            (strncmp(path, route->prefix, prefix) == 0 && matches(route, path + prefix, rest))) {
            return route;
        }
    }
    return NULL;
}

const char *speech_route_name(const struct speech_route *route)
{
    return route->path;
}

/* Checks the key of a request (a bearer token) and counts the request. Returns 0, or the HTTP status of a
 * refusal with its message. */
static unsigned refuse(const char **message, const struct service *service, struct MHD_Connection *connection,
                       int cost)
{
    static const char scheme[] = "Bearer ";
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    int has_token = value != NULL && strncasecmp(value, scheme, strlen(scheme)) == 0;
    char address[CLIENT_ADDRESS_BYTES];
    int limit;
    client_address(address, sizeof address, connection);
    switch (
        clients_admit(&limit, service->clients, has_token ? value + strlen(scheme) : NULL, address, cost)) {
    case CLIENT_IS_ADMITTED:
        break;
    case CLIENT_HAS_WRONG_KEY:
    case CLIENT_LACKS_KEY:
        *message = "Incorrect API key provided";
        return 401;
    case CLIENT_IS_TOO_FAST:
        *message = "Rate limit reached for requests";
        return 429;
    }
    return 0;
}

int speech_route_upload(struct upload **out, const struct speech_route *route, const struct service *service,
                        struct MHD_Connection *connection, const struct upload_limits *limits)
{
    const char *message;
    *out = route->post != NULL ? upload_create(connection, route->part, limits) : NULL;
    unsigned status = *out != NULL ? refuse(&message, service, connection, 1) : 0;
    if (status != 0) {
        upload_refuse(*out, status, message);
    }
    return route->post == NULL || *out != NULL;
}

struct answer speech_route_too_large(const struct speech_route *route, size_t limit)
{
    char message[96];
    snprintf(message, sizeof message, "Maximum content size limit (%zu) exceeded", limit);
    return route->problem(413, message);
}

struct answer speech_route_answer(struct service *service, const struct speech_route *route,
                                  const char *method, struct speech_request *request)
{
    int is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (route->get != NULL && is_get) {
        const char *message;
        unsigned status = refuse(&message, service, request->connection, 0);
        return status != 0 ? route->problem(status, message) : route->get(service, request);
    }
    if (request->upload == NULL) {
        if (service->cors != NULL && strcmp(method, "OPTIONS") == 0) { /* a browser's preflight request */
            return (struct answer){.status = 200, .text = strdup("")};
        }
        struct answer answer = route->problem(405, "Method Not Allowed");
        answer.allow = route->get != NULL ? "GET, HEAD" : "POST";
        return answer;
    }
    upload_end(request->upload);
    unsigned status;
    const char *problem = upload_problem(request->upload, &status);
    if (problem != NULL) {
        return status == 413 ? speech_route_too_large(route, upload_limit(request->upload))
                             : route->problem(status, problem);
    }
    return route->post(service, request);
}
