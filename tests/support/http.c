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
    struct http_server server = {coprocess_start_by(process, process_format("serve --port 0 %s", flags)), 0};
    char text[4096] = "";
    int is_running = 1;
    for (int i = 0; i < 100 * TIMEOUT_SECONDS && server.port == 0 && is_running; i++) {
        siginfo_t ended = {.si_pid = 0};
        is_running = waitid(P_PID, (id_t)server.process.child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     ended.si_pid == 0;
        if (pread(fileno(server.process.error_file), text, sizeof text - 1, 0) > 0) {
            static const char before[] = " at http://127.0.0.1:";
            char *address = strstr(text, before);
            int is_whole = address != NULL && strchr(address, '\n') != NULL;
            server.port = is_whole ? atoi(address + strlen(before)) : 0;
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
