#include "support/http.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_SECONDS = 120 };

void http_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

struct http_server http_start(const char *flags)
{
    return http_start_by(&(struct process){.input = NULL}, flags);
}

struct http_server http_start_by(const struct process *process, const char *flags)
{
    struct http_server server = {coprocess_start_by(process, process_format("serve --port 0 %s", flags)), 0,
                                 0};
    char text[4096] = "";
    int is_running = 1;
    for (int i = 0; i < 100 * TIMEOUT_SECONDS && server.port == 0 && is_running; i++) {
        siginfo_t ended = {.si_pid = 0};
        is_running = waitid(P_PID, (id_t)server.process.child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     ended.si_pid == 0;
        if (pread(fileno(server.process.error_file), text, sizeof text - 1, 0) > 0) {
            static const char before[] = " at http://127.0.0.1:", second[] = " and tcp://127.0.0.1:";
            const char *address = strstr(text, before), *other = strstr(text, second);
            int is_whole = address != NULL && strchr(address, '\n') != NULL;
            server.port = is_whole ? atoi(address + strlen(before)) : 0;
            server.wyoming_port = is_whole && other != NULL ? atoi(other + strlen(second)) : 0;
        }
        http_pause();
    }
    if (server.port == 0) {
        kill(server.process.child, SIGKILL);
        fail_msg("the server does not listen:\n%s", text);
    }
    return server;
}

int http_stop(struct http_server *server, int number)
{
    kill(server->process.child, number);
    return coprocess_end(&server->process);
}

/* Stops the server; returns 0 if it has failed or a request has failed. */
static int end_well(struct http_server *server)
{
    int status = http_stop(server, SIGTERM), is_ok;
    server->process.child = 0;
    is_ok = status == 0 && strstr(server->process.errors, "a request failed") == NULL;
    if (!is_ok) {
        print_error("the server ended with %d:\n%s", status, server->process.errors);
    }
    return is_ok;
}

void http_end(struct http_server *server)
{
    assert_true(end_well(server));
}

struct http_server http_shared;

int http_start_shared(const char *flags)
{
    http_shared = http_start(flags);
    return 0;
}

int http_stop_shared(void **state)
{
    return end_well(&http_shared) ? support_teardown(state) : 1;
}

void http_kill(struct http_server *server)
{
    if (server->process.child > 0) {
        http_stop(server, SIGKILL);
    }
}

int http_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
        close(client);
        return -1;
    }
    return client;
}

void http_send(int client, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(client, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) {
            return; /* the server has closed the connection; its response may still be readable */
        }
        sent += (size_t)count;
    }
}

void http_receive(struct http_answer *answer, int client)
{
    size_t size = 0;
    for (ssize_t count = 1;
         count > 0 && size<sizeof answer->bytes - 1; size += count> 0 ? (size_t)count : 0) {
        count = recv(client, answer->bytes + size, sizeof answer->bytes - 1 - size, 0);
    }
    close(client);
    answer->bytes[size] = '\0';
    answer->status = strncmp(answer->bytes, "HTTP/1.1 ", 9) == 0 ? atoi(answer->bytes + 9) : 0;
    const char *end = strstr(answer->bytes, "\r\n\r\n");
    answer->body = end != NULL ? end + 4 : "";
}

void http_exchange(struct http_answer *answer, int port, const char *bytes, size_t size)
{
    int client = http_connect(port);
    assert_true(client >= 0);
    http_send(client, bytes, size);
    http_receive(answer, client);
}

void http_request(struct http_answer *answer, int port, const char *line, const char *type, const char *body)
{
    const char *text = process_format("%s HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: %s\r\n"
                                      "Content-Length: %zu\r\n\r\n%s",
                                      line, type, strlen(body), body);
    http_exchange(answer, port, text, strlen(text));
}

static void add_bytes(struct http_form *form, const void *bytes, size_t size)
{
    if (form->size + size > form->capacity) {
        form->capacity = 2 * (form->size + size);
        char *grown = support_array(form->capacity, 1);
        if (form->size > 0) {
            memcpy(grown, form->bytes, form->size);
        }
        form->bytes = grown;
    }
    if (size > 0) {
        memcpy(form->bytes + form->size, bytes, size);
    }
    form->size += size;
}

static void add_text(struct http_form *form, const char *text)
{
    add_bytes(form, text, strlen(text));
}

void http_check(struct http_answer *answer, int port, const char *line, const char *type, const char *body,
                int status, const char *expected)
{
    http_request(answer, port, line, type, body);
    if (answer->status != status || strcmp(answer->body, expected) != 0) {
        fail_msg("%s, %s:\nexpected %d %s\ngot      %d %s", line, body, status, expected, answer->status,
                 answer->body);
    }
}

void http_form_field(struct http_form *form, const char *name, const char *value)
{
    add_text(form, process_format("--limit\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                                  name, value));
}

void http_form_file(struct http_form *form, const char *name, const char *file_name, const void *bytes,
                    size_t size)
{
    add_text(form, process_format("--limit\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\""
                                  "\r\n\r\n",
                                  name, file_name));
    add_bytes(form, bytes, size);
    add_text(form, "\r\n");
}

struct http_form http_form_request(const struct http_form *form, const char *path)
{
    static const char end[] = "--limit--\r\n";
    struct http_form request = {.bytes = NULL};
    add_text(
        &request,
        process_format("POST %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: " HTTP_FORM_TYPE
                       "\r\nContent-Length: %zu\r\n\r\n",
                       path, form->size + strlen(end)));
    add_bytes(&request, form->bytes, form->size);
    add_text(&request, end);
    return request;
}

void http_form_post(struct http_answer *answer, int port, const char *path, const struct http_form *form)
{
    struct http_form request = http_form_request(form, path);
    http_exchange(answer, port, request.bytes, request.size);
}

char *http_unchunked(const struct http_answer *answer)
{
    char *text = support_array(sizeof answer->bytes, 1);
    size_t size = 0, count;
    char *end;
    for (const char *rest = answer->body; (count = strtoul(rest, &end, 16)) > 0; rest = end + 2 + count + 2) {
        assert_memory_equal(end, "\r\n", 2);
        memcpy(text + size, end + 2, count);
        size += count;
    }
    return text;
}

char *http_wav(double seconds, size_t *size)
{
    static const unsigned char header[HTTP_WAV_HEADER] =
        "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\0\x7d\0\0\2\0\x10\0data....";
    uint32_t count = (uint32_t)(16000 * seconds), data = 2 * count, whole = data + sizeof header - 8;
    char *bytes = support_array(sizeof header + data, 1);
    uint32_t state = 1;
    memcpy(bytes, header, sizeof header);
    for (int i = 0; i < 4; i++) {
        bytes[4 + i] = (char)(whole >> 8 * i);
        bytes[40 + i] = (char)(data >> 8 * i);
    }
    for (uint32_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        int16_t sample = (int16_t)((int)(state >> 18) - 8192);
        bytes[sizeof header + 2 * i] = (char)(sample & 0xff);
        bytes[sizeof header + 2 * i + 1] = (char)(sample >> 8);
    }
    *size = sizeof header + data;
    return bytes;
}

int http_begin(int port, const char *body)
{
    char answer[64] = "";
    int client = http_connect(port);
    const char *headers = process_format("POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: " FORM_TYPE
                                         "\r\nExpect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
                                         strlen(body));
    http_send(client, headers, strlen(headers));
    assert_true(recv(client, answer, sizeof answer - 1, 0) > 0);
    assert_memory_equal(answer, "HTTP/1.1 100 ", 13);
    return client;
}
