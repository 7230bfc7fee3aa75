/* Starts `clformer serve` and sends requests to it. */
#ifndef CLF_TESTS_SUPPORT_HTTP_H
#define CLF_TESTS_SUPPORT_HTTP_H

#include "support/process.h"

#define JSON_TYPE "application/json"
#define FORM_TYPE "application/x-www-form-urlencoded"

struct http_answer {
    int status; /* 0: the connection was closed without a response */
    char bytes[1 << 20];
    const char *body;
};

struct http_server {
    struct coprocess process;
    int port;
    int wyoming_port; /* of --wyoming; 0: none */
};

void http_pause(void);
/* Starts the command on any free port and reads the port from its standard error. */
struct http_server http_start(const char *flags);
/* Like http_start(), with another environment. */
struct http_server http_start_by(const struct process *process, const char *flags);
/* Sends a signal to the server; returns the server's exit status. */
int http_stop(struct http_server *server, int number);
/* Stops the server by SIGTERM, and fails unless it ends with status 0 and no request has failed. */
void http_end(struct http_server *server);
/* The server of a group of tests. http_start_shared() starts it in the group's setup, and returns 0;
 * http_stop_shared() is the group's teardown, which fails like http_end(). */
extern struct http_server http_shared;
int http_start_shared(const char *flags);
int http_stop_shared(void **state);
/* Kills a server that a failed test has left running; for teardowns. */
void http_kill(struct http_server *server);
/* Returns a connection, or -1 if it is refused. */
int http_connect(int port);
void http_send(int client, const char *bytes, size_t size);
/* Reads to the end of the connection and closes it. */
void http_receive(struct http_answer *answer, int client);
void http_exchange(struct http_answer *answer, int port, const char *bytes, size_t size);
/* `line` is the method and the path. */
void http_request(struct http_answer *answer, int port, const char *line, const char *type, const char *body);
/* Sends a request and fails unless the answer has this status and body. */
void http_check(struct http_answer *answer, int port, const char *line, const char *type, const char *body,
                int status, const char *expected);
/* A multipart form; a zeroed one is empty. Its bytes live until support_free_all(). */
struct http_form {
    char *bytes;
    size_t size, capacity;
};

#define HTTP_FORM_TYPE "multipart/form-data; boundary=limit"

void http_form_field(struct http_form *form, const char *name, const char *value);
void http_form_file(struct http_form *form, const char *name, const char *file_name, const void *bytes,
                    size_t size);
/* Returns the whole request, with the end of the form. */
struct http_form http_form_request(const struct http_form *form, const char *path);
void http_form_post(struct http_answer *answer, int port, const char *path, const struct http_form *form);
/* Returns the body of the last answer without the sizes of its chunks. */
char *http_unchunked(const struct http_answer *answer);

/* Returns a recording of noise: a WAV file whose samples begin at HTTP_WAV_HEADER. */
enum { HTTP_WAV_HEADER = 44 };
char *http_wav(double seconds, size_t *size);

/* Begins to POST a form to /translate, and returns when the server waits for the body. */
int http_begin(int port, const char *body);

#endif
