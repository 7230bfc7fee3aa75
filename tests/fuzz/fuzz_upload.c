/* Any body of a request with a recording: the fields and the recording are the same however the bytes arrive.
 * The first line of the input is the media type, the rest is the body. */
#include "support/support.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef CLF_HAS_SERVER
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/upload.h"

enum { MOST_BODY = 1 << 16 };

/* The body of the input, for the request that is running. */
static struct {
    const char *bytes;
    size_t size;
} body;

static void check(int is_true)
{
    if (!is_true) {
        abort();
    }
}

/* Returns a sum of the recording's bytes. */
static uint64_t sum_file(const struct upload *upload)
{
    char bytes[4096];
    uint64_t sum = 0, size = 0;
    int file = upload_file(upload);
    check(lseek(file, 0, SEEK_SET) == 0);
    for (ssize_t count; (count = read(file, bytes, sizeof bytes)) > 0; size += (uint64_t)count) {
        for (ssize_t i = 0; i < count; i++) {
            sum = 31 * sum + (unsigned char)bytes[i];
        }
    }
    check(size == upload_file_size(upload));
    return sum;
}

/* Reads the body in parts of `step` bytes; returns what a handler sees. */
static json_t *read_body(struct MHD_Connection *connection, size_t step)
{
    const struct upload_limits limits = {MOST_BODY / 2, MOST_BODY / 4};
    struct upload *upload = upload_create(connection, "file", &limits);
    unsigned status;
    int is_open = 1;
    check(upload != NULL);
    for (size_t at = 0; at < body.size && is_open; at += step) {
        is_open = upload_add(upload, body.bytes + at, body.size - at < step ? body.size - at : step);
    }
    if (!is_open) {
        check(body.size > 2 * upload_limit(upload));
        upload_free(upload);
        return json_null();
    }
    upload_end(upload);
    const char *problem = upload_problem(upload, &status);
    json_t *seen = json_object();
    if (problem != NULL) {
        check(status == 400 || status == 413);
        json_object_set_new(seen, "status", json_integer(status));
    } else {
        static const char *const names[] = {"model", "language", "text", "temperature", "a"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            json_object_set(seen, names[i], (json_t *)upload_values(upload, names[i]));
            const char *text = upload_text(upload, names[i]);
            check(text == NULL || *text != '\0');
        }
        if (upload_file(upload) >= 0) {
            json_object_set_new(seen, "file", json_integer((json_int_t)(sum_file(upload) >> 1)));
            json_object_set_new(seen, "name", json_string(upload_file_name(upload)));
            check(json_is_string(json_object_get(seen, "name")));
        }
    }
    upload_free(upload);
    return seen;
}

/* libmicrohttpd cuts a value of a urlencoded form at a NUL, but only in the part of the body with the NUL. */
static int is_comparable(struct MHD_Connection *connection)
{
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type");
    return memchr(body.bytes, '\0', body.size) == NULL || strncasecmp(type, "multipart/", 10) == 0;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *part, size_t *part_size,
                              void **of_connection)
{
    static char empty[] = "";
    (void)user, (void)path, (void)method, (void)version, (void)part, (void)part_size, (void)of_connection;
    json_t *whole = read_body(connection, body.size + 1), *parts = read_body(connection, 7);
    check(json_equal(whole, parts) || !is_comparable(connection));
    json_decref(whole);
    json_decref(parts);
    struct MHD_Response *response = MHD_create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

/* Sends a request with a media type and no body; the handler reads the body of the input. */
static void request(const char *type, size_t size)
{
    static struct MHD_Daemon *daemon; /* one for all inputs */
    const struct sockaddr_in address = {.sin_family = AF_INET};
    char head[512], answer[4096];
    int sockets[2];
    if (daemon == NULL) {
        daemon = MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, NULL, MHD_OPTION_END);
        check(daemon != NULL);
    }
    int length = snprintf(head, sizeof head,
                          "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: %.*s\r\n\r\n",
                          (int)size, type);
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    check(write(sockets[0], head, (size_t)length) == length);
    check(MHD_add_connection(daemon, sockets[1], (const struct sockaddr *)&address, sizeof address) ==
          MHD_YES);
    while (recv(sockets[0], answer, sizeof answer, MSG_DONTWAIT) != 0) { /* until it is closed */
        check(MHD_run(daemon) == MHD_YES);
    }
    close(sockets[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_TYPE = 200 };
    const char *bytes = (const char *)data, *end = size > 0 ? memchr(bytes, '\n', size) : NULL;
    size_t type = end != NULL ? (size_t)(end - bytes) : 0;
    if (type == 0 || type > MOST_TYPE || memchr(bytes, '\0', type) != NULL ||
        memchr(bytes, '\r', type) != NULL) {
        return 0;
    }
    body.bytes = end + 1;
    body.size = size - type - 1;
    request(bytes, type);
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

#endif
