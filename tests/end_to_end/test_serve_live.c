/* `clformer serve`: live transcriptions have the events of `clformer transcribe --follow`. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

enum { RATE = 16000, SECONDS = 4, SECOND_BYTES = 2 * RATE, MOST_TEXT = 1 << 17 };

#define LIVE "/v1/transcribe/live"

static struct http_answer last;

/* Opens a session; returns its path. */
static const char *open_session(const char *query)
{
    http_request(&last, http_shared.port, process_format("POST " LIVE "%s", query), "", "");
    assert_int_equal(last.status, 200);
    json_t *answer = json_loads(last.body, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(answer, "model")), "tiny");
    const char *path = process_format(LIVE "/%s", json_string_value(json_object_get(answer, "id")));
    assert_int_equal(strlen(path), sizeof LIVE + 32);
    json_decref(answer);
    return path;
}

/* Sends bytes to a session; the answer is in `last`. */
static void send_bytes(const char *path, const void *bytes, size_t size)
{
    const char *head = process_format("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
                                      "application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
                                      path, size);
    char *request = support_array(strlen(head) + size + 1, 1);
    memcpy(request, head, strlen(head));
    memcpy(request + strlen(head), bytes, size);
    http_exchange(&last, http_shared.port, request, strlen(head) + size);
}

/* The events that a connection has received. */
struct reader {
    int client;
    char bytes[MOST_TEXT];
    size_t size;
};

/* An answer of HTTP 1.0 has no chunks. */
static void begin_reading(struct reader *reader, const char *path)
{
    const char *request = process_format("GET %s HTTP/1.0\r\nHost: x\r\n\r\n", path);
    reader->client = http_connect(http_shared.port);
    reader->size = 0;
    http_send(reader->client, request, strlen(request));
}

/* Receives bytes; returns 0 at the end. */
static int receive(struct reader *reader)
{
    struct pollfd answer = {.fd = reader->client, .events = POLLIN};
    assert_int_equal(poll(&answer, 1, 300000), 1);
    ssize_t size = recv(reader->client, reader->bytes + reader->size, MOST_TEXT - 1 - reader->size, 0);
    assert_true(size >= 0);
    reader->size += (size_t)size;
    reader->bytes[reader->size] = '\0';
    return size > 0;
}

static const int16_t *make_sound(int seconds)
{
    int16_t *samples = support_array((size_t)seconds * RATE, sizeof *samples);
    for (int i = 0; i < seconds * RATE; i++) {
        double t = (double)i / RATE;
        samples[i] = (int16_t)lrint(9000 * sin(6.2832 * (200 + 70 * floor(2 * t)) * t));
    }
    return samples;
}

/* Returns the events without comments and the field name, as lines. */
static const char *lines_of(const struct reader *reader)
{
    char *lines = support_array(MOST_TEXT, 1), *rest = process_format("%s", reader->bytes), *line;
    while ((line = strtok_r(rest, "\r\n", &rest)) != NULL) {
        if (strncmp(line, "data: ", 6) == 0) {
            strcat(strcat(lines, line + 6), "\n");
        }
    }
    return lines;
}

/* Audio that arrives second by second has the events of the command. The second block divides a sample. */
static void test_events(void **state)
{
    (void)state;
    static struct reader reader;
    const char *folder = support_temporary_folder();
    const int16_t *samples = make_sound(SECONDS);
    const char *bytes = (const char *)samples;
    process_write(folder, "sound", samples, SECONDS * SECOND_BYTES);
    struct process_result command = run_clformer(
        NULL, process_format("transcribe -m %s --follow --format json --unstable --raw 16000 --language de "
                             "%s/sound",
                             support_fixture("speech/tiny"), folder));
    assert_int_equal(command.status, 0);
    const char *path = open_session("?unstable=true&language=de&step=1");
    begin_reading(&reader, path);
    for (int i = 0; i < SECONDS; i++) {
        size_t start = (size_t)i * SECOND_BYTES + (i == 1 ? 1 : 0), size = SECOND_BYTES;
        size += i == 0 ? 1 : i == 1 ? (size_t)-1 : 0;
        send_bytes(path, bytes + start, size);
        assert_int_equal(last.status, 200);
        assert_non_null(strstr(last.body, "{\"waiting\":"));
        const char *mark = process_format("\"received\":%d.0}", i + 1);
        const char *found = NULL;
        while (found == NULL) {
            assert_true(receive(&reader));
            found = strstr(reader.bytes, "\"type\":\"unstable\"");
            while (found != NULL && strstr(found, mark) == NULL) {
                found = strstr(found + 1, "\"type\":\"unstable\"");
            }
        }
    }
    send_bytes(process_format("%s?end=true", path), "", 0);
    assert_int_equal(last.status, 200);
    while (receive(&reader)) {
    }
    close(reader.client);
    assert_non_null(strstr(reader.bytes, "\r\nContent-Type: text/event-stream\r\n"));
    assert_string_equal(lines_of(&reader),
                        process_format("%s{\"type\":\"done\",\"received\":%d.0}\n", command.output, SECONDS));
    send_bytes(path, bytes, 2);
    assert_int_equal(last.status, 404);
}

static void refuse(const char *line, const char *type, const char *body, int status, const char *part)
{
    http_request(&last, http_shared.port, line, type, body);
    assert_int_equal(last.status, status);
    if (strstr(last.body, part) == NULL) {
        fail_msg("%s: %s", line, last.body);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static struct reader reader;
    refuse("POST " LIVE "?stpe=1", "", "", 400, "stpe: unknown field");
    refuse("POST " LIVE "?step=0.01", "", "", 400, "step: must be a number from 0.1 to 10, not 0.01");
    refuse("POST " LIVE "?rate=x", "", "", 400, "rate: must be a number from 1000 to 1e+06, not x");
    refuse("POST " LIVE "?vad=yes", "", "", 400, "vad: must be true or false, not yes");
    refuse("POST " LIVE "?language=xx", "", "", 400, "language: xx is unknown");
    refuse("POST " LIVE "?language=fr", "", "", 400, "language: the model tiny does not support fr");
    refuse("POST " LIVE "?task=sing", "", "", 400, "task: must be transcribe or translate, not sing");
    refuse("POST " LIVE "?model=other", "", "", 404, "model: other does not exist");
    refuse("POST " LIVE, JSON_TYPE, "{}", 415, "send the fields in the query");
    refuse("GET " LIVE, "", "", 405, "Method Not Allowed");
    refuse("GET " LIVE "/0", "", "", 404, "no such session");
    refuse("POST " LIVE "/0", "", "", 404, "no such session");
    const char *path = open_session("?rate=8000");
    refuse(process_format("POST %s?end=1", path), "", "", 400, "end: must be true or false");
    send_bytes(path, support_array(61, 16000), 61 * 16000);
    assert_int_equal(last.status, 429);
    assert_non_null(strstr(last.bytes, "\r\nRetry-After: 1\r\n"));
    begin_reading(&reader, path);
    while (strstr(reader.bytes, "text/event-stream") == NULL) {
        assert_true(receive(&reader));
        http_pause();
    }
    refuse(process_format("GET %s", path), "", "", 409, "its events are already read");
    close(reader.client);
    do { /* the session ends with its reader */
        http_pause();
        send_bytes(path, "", 0);
    } while (last.status == 200);
    assert_int_equal(last.status, 404);
}

/* The number of sessions is limited; a session that has ended makes room. */
static void test_limit(void **state)
{
    (void)state;
    enum { MOST = 32 };
    static struct reader reader;
    const char *paths[MOST];
    for (int i = 0; i < MOST; i++) {
        paths[i] = open_session("?vad=true");
    }
    refuse("POST " LIVE, "", "", 429, "the server has 32 live sessions; try again later");
    assert_non_null(strstr(last.bytes, "\r\nRetry-After: 10\r\n"));
    for (int i = 0; i < MOST; i++) {
        send_bytes(process_format("%s?end=true", paths[i]), support_array(2000, 1), 2000);
        assert_int_equal(last.status, 200);
        send_bytes(paths[i], "", 0);
        assert_int_equal(last.status, 409);
        begin_reading(&reader, paths[i]);
        while (receive(&reader)) {
        }
        close(reader.client);
        assert_string_equal(lines_of(&reader), "{\"type\":\"done\",\"received\":0.0625}\n");
    }
    open_session("?vad=true&prompt=bread");
}

/* A signal ends the sessions. */
static void test_stop(void **state)
{
    (void)state;
    static struct reader reader;
    struct http_server server = http_start(process_format("-m %s", support_fixture("speech/tiny")));
    int port = http_shared.port;
    http_shared.port = server.port;
    begin_reading(&reader, open_session(""));
    while (!receive(&reader)) {
    }
    http_shared.port = port;
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    while (receive(&reader)) {
    }
    close(reader.client);
    assert_string_equal(lines_of(&reader), "{\"type\":\"done\",\"received\":0.0}\n");
}

static int start_shared(void **state)
{
    (void)state;
    return http_start_shared(process_format("-m %s", support_fixture("speech/tiny")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_events, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
        cmocka_unit_test_teardown(test_limit, support_teardown),
        cmocka_unit_test_teardown(test_stop, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, http_stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
