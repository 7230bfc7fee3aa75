#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/status.h"
#include "serve/client.h"
#include "serve/page.h"
#include "serve/speech_routes.h"

enum { IDLE_SECONDS = 60, HEADER_BYTES = 128 * 1024, WAIT_NANOSECONDS = 20000000 };

struct server {
    struct MHD_Daemon *daemon;
    struct service *service;
    struct server_options options;
};

/* A request from its headers to the end of its answer. */
struct request {
    char *body;
    size_t size, capacity;
    int is_too_large;
    double start;
    char shown[200]; /* method and path for the log */
    char address[CLIENT_ADDRESS_BYTES];
    const char *endpoint;
    unsigned status; /* 0: not answered */
    size_t characters;
    const struct speech_route *route; /* NULL: not a speech request */
    const char *rest;                 /* rest of the path after the route's */
    struct upload *upload;            /* the body of a speech request; NULL: none */
};

/* Lets browsers pass an answer to pages of the origin. */
static void add_cors(struct MHD_Response *response, const char *origin)
{
    static const char *const headers[][2] = {{"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                                             {"Access-Control-Expose-Headers", "Authorization"},
                                             {"Access-Control-Allow-Methods", "GET, POST"},
                                             {"Access-Control-Allow-Credentials", "true"},
                                             {"Access-Control-Max-Age", "1728000"}};
    MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
}

/* Makes a response from the text of an answer, and takes ownership of the text. */
static struct MHD_Response *respond_with_text(struct request *request, struct answer *answer)
{
    static char no_memory[] = "{\"error\":\"out of memory\"}";
    int has_text = answer->text != NULL;
    char *text = has_text ? answer->text : no_memory;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), text, has_text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        free(answer->text);
        return NULL;
    }
    request->status = has_text ? answer->status : 500;
    if (*text != '\0' || answer->type != NULL) { /* a transcript may be empty */
        MHD_add_response_header(response, "Content-Type",
                                answer->type != NULL && has_text ? answer->type : "application/json");
    }
    return response;
}

/* Sends an answer and frees it. */
static enum MHD_Result send_answer(const struct server *server, struct MHD_Connection *connection,
                                   struct request *request, struct answer *answer)
{
    request->status = answer->status;
    request->characters = answer->characters;
    struct MHD_Response *response = answer->response;
    answer->text = answer_text(answer);
    if (response == NULL && !answer->closes) {
        response = respond_with_text(request, answer);
    }
    if (response == NULL) {
        return MHD_NO;
    }
    if (server->service->cors != NULL && request->status != 404) {
        add_cors(response, server->service->cors);
    }
    if (answer->file != NULL) {
        page_add_headers(answer->file, response);
    }
    if (answer->allow != NULL) {
        MHD_add_response_header(response, "Allow", answer->allow);
    }
    if (answer->retry_after > 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", answer->retry_after);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    if (atomic_load(&server->service->is_stopping)) {
        MHD_add_response_header(response, "Connection", "close");
    }
    enum MHD_Result result = MHD_queue_response(connection, request->status, response);
    MHD_destroy_response(response);
    return result;
}

static struct answer too_large(const struct server *server, const struct request *request)
{
    if (request->upload != NULL) {
        return speech_route_too_large(request->route, upload_limit(request->upload));
    }
    return endpoints_error(413, "The request body exceeds %zu bytes", server->options.max_body);
}

/* Adds a part of the body; returns 0 if out of memory, or to close the connection of a client that sends far
 * more than allowed. */
static int add_part(struct request *request, const char *part, size_t size, size_t most)
{
    request->size += size;
    if (request->size > most) {
        request->is_too_large = 1;
        return request->size / 2 <= most;
    }
    if (request->size > request->capacity) {
        size_t capacity = 2 * request->size < most ? 2 * request->size : most;
        char *grown = realloc(request->body, capacity);
        if (grown == NULL) {
            return 0;
        }
        request->body = grown;
        request->capacity = capacity;
    }
    memcpy(request->body + request->size - size, part, size);
    return 1;
}

/* Prepares for the body of a speech request; returns 0 if out of memory. */
static int begin_upload(const struct server *server, struct MHD_Connection *connection, const char *path,
                        const char *method, struct request *request)
{
    if (server->service->speech == NULL) {
        return 1;
    }
    request->route = speech_route_find(path, &request->rest);
    if (request->route == NULL || strcmp(method, "POST") != 0) {
        return 1;
    }
    const struct upload_limits limits = {server->options.max_upload, server->options.max_body};
    return speech_route_upload(&request->upload, request->route, server->service, connection, &limits);
}

/* Begins a request whose headers are complete. A body whose declared size is too large is not read. */
static enum MHD_Result begin(struct server *server, struct MHD_Connection *connection, const char *path,
                             const char *method, void **of_connection)
{
    struct request *request = *of_connection = calloc(1, sizeof *request);
    if (request == NULL) {
        return MHD_NO;
    }
    atomic_fetch_add(&server->service->running, 1);
    request->start = clf__seconds();
    request->endpoint = endpoints_name(path);
    if (server->service->metrics != NULL) {
        metrics_begin(server->service->metrics);
    }
    char line[sizeof request->shown / 4];
    snprintf(line, sizeof line, "%s %s", method, path);
    clf__escape(request->shown, sizeof request->shown, line, strlen(line));
    client_address(request->address, sizeof request->address, connection);
    if (!begin_upload(server, connection, path, method, request)) {
        return MHD_NO;
    }
    size_t most = request->upload != NULL ? upload_limit(request->upload) : server->options.max_body;
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    if (length != NULL && strtoull(length, NULL, 10) > most) {
        struct answer answer = too_large(server, request);
        return send_answer(server, connection, request, &answer);
    }
    return MHD_YES;
}

/* Answers a request that has arrived completely. */
static struct answer answer_request(const struct server *server, struct MHD_Connection *connection,
                                    const char *path, const char *method, struct request *request)
{
    if (request->is_too_large) {
        return too_large(server, request);
    }
    if (request->route == NULL) {
        return endpoints_answer(server->service, connection, method, path, request->body, request->size);
    }
    struct speech_request speech = {connection, request->rest, request->upload};
    struct answer answer = speech_route_answer(server->service, request->route, method, &speech);
    request->upload = speech.upload;
    return answer;
}

/* Called by libmicrohttpd with the headers of a request, with each part of its body, and at its end. */
static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *part, size_t *part_size,
                              void **of_connection)
{
    struct server *server = user;
    struct request *request = *of_connection;
    (void)version;
    if (request == NULL) {
        return begin(server, connection, path, method, of_connection);
    }
    if (*part_size > 0) {
        int continues = request->upload != NULL
                            ? upload_add(request->upload, part, *part_size)
                            : add_part(request, part, *part_size, server->options.max_body);
        *part_size = 0;
        return continues ? MHD_YES : MHD_NO;
    }
    client_set(connection, server->service->limits.time);
    struct answer answer = answer_request(server, connection, path, method, request);
    client_set(NULL, 0);
    return send_answer(server, connection, request, &answer);
}

/* Called when a request is answered or its connection is lost. */
static void finish(void *user, struct MHD_Connection *connection, void **of_connection,
                   enum MHD_RequestTerminationCode code)
{
    struct server *server = user;
    struct request *request = *of_connection;
    (void)connection;
    if (request == NULL) {
        return;
    }
    double seconds = clf__seconds() - request->start;
    if (server->service->metrics != NULL) {
        unsigned status = request->status != 0 ? request->status : CLIENT_IS_GONE;
        metrics_end(server->service->metrics, request->endpoint, status, seconds);
    }
    atomic_fetch_add(&server->service->characters, (long long)request->characters);
    if (server->service->log != NULL) {
        access_log_write(server->service->log,
                         &(struct access){.request = request->shown,
                                          .address = request->address,
                                          .status = request->status,
                                          .seconds = seconds,
                                          .characters = request->characters,
                                          .is_lost = code != MHD_REQUEST_TERMINATED_COMPLETED_OK});
    }
    upload_free(request->upload);
    free(request->body);
    free(request);
    *of_connection = NULL;
    atomic_fetch_sub(&server->service->running, 1);
}

clf_status server_start(struct server **out, int listening, struct service *service,
                        const struct server_options *options)
{
    struct server *server = *out = calloc(1, sizeof *server);
    if (server == NULL) {
        close(listening);
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the server");
    }
    server->service = service;
    server->options = *options;
    server->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL,
        NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listening, MHD_OPTION_NOTIFY_COMPLETED,
        finish, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADER_BYTES, MHD_OPTION_END);
    if (server->daemon == NULL) {
        close(listening);
        free(server);
        *out = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "libmicrohttpd cannot start a server");
    }
    return CLF_OK;
}

void server_stop(struct server *server, double grace, void (*give_up)(void))
{
    double end = clf__seconds() + grace;
    atomic_store(&server->service->is_stopping, 1);
    MHD_socket listening = MHD_quiesce_daemon(server->daemon);
    if (listening != MHD_INVALID_SOCKET) {
        close(listening);
    }
    while (atomic_load(&server->service->running) > 0 && clf__seconds() < end) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
    }
    give_up();
    MHD_stop_daemon(server->daemon);
    free(server);
}
