/* `clformer serve` with a speech model: uploads in pieces and beyond the limits, parallel clients, streams,
 * and clients that disconnect. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "support/http.h"

#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO

static struct http_server shared;
static struct http_answer last;

#define TRANSCRIPTIONS "/v1/audio/transcriptions"

static struct http_form form_of_sound(double seconds)
{
    size_t size;
    const char *sound = http_wav(seconds, &size);
    struct http_form form = {.bytes = NULL};
    http_form_file(&form, "file", "sound.wav", sound, size);
    return form;
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The fields do not depend on where a packet ends. */
static void test_packets(void **state)
{
    (void)state;
    struct http_form form = {.bytes = NULL};
    http_form_field(&form, "temperature", "2");
    http_form_file(&form, "file", "a.wav", "abc", 3);
    http_form_field(&form, "model", "tiny");
    struct http_form request = http_form_request(&form, TRANSCRIPTIONS);
    size_t body = (size_t)(strstr(request.bytes, "\r\n\r\n") + 4 - request.bytes);
    for (size_t cut = body; cut < request.size; cut += support_small() ? 3 : 1) {
        int client = http_connect(shared.port);
        http_send(client, request.bytes, cut);
        http_pause();
        http_send(client, request.bytes + cut, request.size - cut);
        http_receive(&last, client);
        if (last.status != 400 || strstr(last.body, "\"param\":\"temperature\"") == NULL) {
            fail_msg("with a packet that ends after %zu bytes of the body: %d %s", cut - body, last.status,
                     last.body);
        }
    }
}

static void check_refused(const struct http_form *form, const char *path, int status, const char *body)
{
    http_form_post(&last, shared.port, path, form);
    if (last.status != status || strcmp(last.body, body) != 0) {
        fail_msg("expected %d %s, got %d %s", status, body, last.status, last.body);
    }
}

#define ERROR(type, message)                                                                                 \
    "{\"error\":{\"message\":\"" message "\",\"type\":\"" type "\",\"param\":null,\"code\":null}}"

static void test_limits(void **state)
{
    static const char limit[] = "Maximum content size limit (1048576) exceeded";
    struct http_form large = {.bytes = NULL}, form = {.bytes = NULL};
    (void)state;
    char *bytes = support_array(1 << 20, 1), *name = support_array(1000, 1);
    memset(bytes, 'a', 1 << 20);
    http_form_file(&large, "audio_file", "a", bytes, 1 << 20);
    check_refused(&large, TRANSCRIPTIONS, 413,
                  process_format("{\"error\":{\"message\":\"%s\",\"type\":\"server_error\",\"param\":null,"
                                 "\"code\":null}}",
                                 limit));
    check_refused(&large, "/inference", 413, process_format("{\"error\":\"%s\"}", limit));
    check_refused(&large, "/asr", 413, ""); /* Bazarr would save a message as a subtitle */
    for (int i = 0; i < 201; i++) {
        http_form_field(&form, "a", "b");
    }
    check_refused(&form, TRANSCRIPTIONS, 400, ERROR("invalid_request_error", "too many fields"));
    memset(name, 'a', 999);
    form = (struct http_form){.bytes = NULL};
    http_form_field(&form, name, "b");
    check_refused(&form, TRANSCRIPTIONS, 400, ERROR("invalid_request_error", "a field name is too long"));
    bytes[70000] = '\0';
    form = (struct http_form){.bytes = NULL};
    http_form_field(&form, "prompt", bytes);
    check_refused(&form, TRANSCRIPTIONS, 400,
                  ERROR("invalid_request_error", "a field has more than 65536 bytes"));
    form = (struct http_form){.bytes = NULL};
    http_form_field(&form, "prompt", "\xff");
    check_refused(&form, TRANSCRIPTIONS, 400, ERROR("invalid_request_error", "a field is not valid UTF-8"));
    http_request(&last, shared.port, "POST " TRANSCRIPTIONS, HTTP_FORM_TYPE,
                 "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc");
    assert_int_equal(last.status, 400);
    assert_string_equal(last.body, ERROR("invalid_request_error", "the request body cannot be parsed"));
    http_request(&last, shared.port, "POST " TRANSCRIPTIONS, "multipart/form-data", "--limit\r\n");
    assert_int_equal(last.status, 400);
    assert_non_null(strstr(last.body, "file: the recording is missing"));
}

/* Without Content-Length, as some clients send it. */
static void test_chunked_upload(void **state)
{
    (void)state;
    struct http_form form = form_of_sound(1);
    http_form_field(&form, "temperature", "1");
    http_form_post(&last, shared.port, TRANSCRIPTIONS, &form);
    const char *expected = process_format("%s", last.body);
    struct http_form whole = http_form_request(&form, TRANSCRIPTIONS);
    const char *body = strstr(whole.bytes, "\r\n\r\n") + 4;
    size_t size = whole.size - (size_t)(body - whole.bytes);
    int client = http_connect(shared.port);
    const char *head =
        process_format("POST " TRANSCRIPTIONS " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                       "Content-Type: " HTTP_FORM_TYPE "\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "%zx\r\n",
                       size);
    http_send(client, head, strlen(head));
    http_send(client, body, size);
    http_send(client, "\r\n0\r\n\r\n", 7);
    http_receive(&last, client);
    assert_int_equal(last.status, 200);
    assert_string_equal(last.body, expected);
}

enum { CLIENTS = 8 };
struct client {
    struct http_form request;
    struct http_answer answer;
};

static void *run_client(void *user)
{
    struct client *client = user;
    int connection = http_connect(shared.port);
    http_send(connection, client->request.bytes, client->request.size);
    http_receive(&client->answer, connection);
    return NULL;
}

static void test_parallel_clients(void **state)
{
    (void)state;
    struct http_form form = form_of_sound(2);
    http_form_field(&form, "temperature", "1");
    http_form_field(&form, "response_format", "verbose_json");
    http_form_post(&last, shared.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 200);
    struct client *clients = support_array(CLIENTS, sizeof *clients);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].request = http_form_request(&form, TRANSCRIPTIONS);
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(clients[i].answer.body, last.body);
    }
}

/* Reads the next event; returns NULL after the last. */
static json_t *next_event(char **rest)
{
    char *line = *rest, *end = strstr(line, "\n\n");
    if (end == NULL) {
        assert_string_equal(line, "");
        return NULL;
    }
    *rest = end + 2;
    assert_memory_equal(line, "data: ", 6);
    json_t *object = json_loadb(line + 6, (size_t)(end - line - 6), 0, NULL);
    assert_non_null(object);
    return object;
}

static void test_stream(void **state)
{
    (void)state;
    struct http_form form = form_of_sound(2);
    http_form_field(&form, "temperature", "1");
    http_form_field(&form, "stream", "true");
    http_form_post(&last, shared.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 200);
    assert_non_null(strstr(last.bytes, "\r\nContent-Type: text/event-stream\r\n"));
    char *rest = http_unchunked(&last);
    const char *text = "";
    int is_done = 0;
    for (json_t *event; (event = next_event(&rest)) != NULL; json_decref(event)) {
        const char *type = json_string_value(json_object_get(event, "type"));
        is_done = strcmp(type, "transcript.text.done") == 0;
        if (is_done) {
            assert_string_equal(json_string_value(json_object_get(event, "text")), text);
            const json_t *usage = json_object_get(event, "usage");
            assert_int_equal(json_integer_value(json_object_get(usage, "seconds")), 2);
        } else {
            assert_string_equal(type, "transcript.text.delta");
            text = process_format("%s%s", text, json_string_value(json_object_get(event, "delta")));
        }
    }
    assert_true(is_done && *text != '\0');
    form = (struct http_form){.bytes = NULL};
    http_form_field(&form, "stream", "true");
    http_form_file(&form, "file", "a", "abc", 3);
    http_form_post(&last, shared.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 400);
}

static const char *model_flag(void)
{
    return process_format("-m %s", support_fixture("speech/tiny"));
}

/* Begins a transcription that takes far longer than the test; returns the connection. */
static int begin_long(int port, const char *stream)
{
    struct http_form form = form_of_sound(900);
    http_form_field(&form, "stream", stream);
    form = http_form_request(&form, TRANSCRIPTIONS);
    int client = http_connect(port);
    http_send(client, form.bytes, form.size);
    return client;
}

/* Work for clients that close their connections is cancelled. */
static void test_gone(void **state)
{
    char byte;
    (void)state;
    struct http_server server = http_start(process_format("%s --verbose --grace 600", model_flag()));
    int plain = begin_long(server.port, "false"), stream = begin_long(server.port, "true");
    assert_int_equal(recv(stream, &byte, 1, 0), 1); /* the headers: its transcription runs */
    struct http_form form = form_of_sound(1);
    http_form_field(&form, "temperature", "1");
    http_form_post(&last, server.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 200);
    close(plain);
    close(stream);
    double start = seconds_now();
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_true(seconds_now() - start < 20); /* less than a second on an idle machine */
    assert_non_null(strstr(server.process.errors, "POST " TRANSCRIPTIONS " 499 "));
    assert_null(strstr(server.process.errors, "a request failed"));
}

/* Many requests wait, and further ones are refused with a status that makes clients retry. */
static void test_busy(void **state)
{
    enum { LONG = 4, MANY = 180 }; /* 16 recordings are transcribed at a time */
    struct pollfd clients[LONG + MANY];
    (void)state;
    struct http_server server = http_start(process_format("%s --grace 0", model_flag()));
    struct http_form form = form_of_sound(0.1);
    form = http_form_request(&form, TRANSCRIPTIONS);
    for (int i = 0; i < LONG + MANY; i++) {
        int client = i < LONG ? begin_long(server.port, "false") : http_connect(server.port);
        if (i >= LONG) {
            http_send(client, form.bytes, form.size);
        }
        clients[i] = (struct pollfd){.fd = client, .events = POLLIN};
    }
    do { /* until a request is refused; short ones may be answered before the long ones begin */
        assert_true(poll(clients, LONG + MANY, 60000) > 0);
        int next = 0;
        while (clients[next].revents == 0) {
            next++;
        }
        http_receive(&last, clients[next].fd);
        clients[next].fd = -1;
    } while (last.status == 200);
    assert_int_equal(last.status, 429);
    assert_non_null(strstr(last.bytes, "\r\nRetry-After: 10\r\n"));
    assert_non_null(strstr(last.body, "\"message\":\"the server is busy; try again later\""));
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    for (int i = 0; i < LONG + MANY; i++) {
        if (clients[i].fd >= 0) {
            close(clients[i].fd);
        }
    }
}

/* Waits until this many recordings are "running" or "waiting" for their turn. */
static void await_recordings(int port, const char *state, int wanted)
{
    for (int count = -1; count < wanted;) {
        http_request(&last, port, "GET /metrics", "", "");
        const char *line =
            strstr(last.body, process_format("\nclformer_recordings_%s{model=\"tiny\"} ", state));
        assert_non_null(line);
        assert_int_equal(sscanf(strchr(line, ' '), "%d", &count), 1);
        for (int i = 0; i < 10 && count < wanted; i++) {
            http_pause();
        }
    }
}

/* With a full queue, each API gives the answer that makes its clients retry; whisper-asr-webservice, whose
 * clients do not, waits. */
static void test_full_queue(void **state)
{
    enum { RUNNING = 16, WAITING = 112 };
    int clients[RUNNING + WAITING];
    (void)state;
    struct http_server server = http_start(process_format("%s --metrics --grace 0", model_flag()));
    struct http_form form = form_of_sound(0.1), slow = form_of_sound(300), raw = {.bytes = NULL};
    struct http_form request = http_form_request(&form, TRANSCRIPTIONS),
                     slow_request = http_form_request(&slow, TRANSCRIPTIONS);
    for (int i = 0; i < RUNNING + WAITING; i++) {
        if (i == RUNNING) {
            await_recordings(server.port, "running", RUNNING);
        }
        const struct http_form *sent = i < RUNNING ? &slow_request : &request;
        clients[i] = http_connect(server.port);
        http_send(clients[i], sent->bytes, sent->size);
    }
    await_recordings(server.port, "waiting", WAITING);
    http_form_post(&last, server.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 429);
    assert_non_null(strstr(last.body, "\"code\":\"rate_limit_exceeded\""));
    http_form_post(&last, server.port, "/inference", &form);
    assert_int_equal(last.status, 429);
    assert_string_equal(last.body, "{\"error\":\"the server is busy; try again later\"}");
    assert_non_null(strstr(last.bytes, "\r\nRetry-After: 10\r\n"));
    http_form_file(&raw, "audio_file", "a", "ab", 2);
    request = http_form_request(&raw, "/asr?encode=false");
    int asr = http_connect(server.port);
    http_send(asr, request.bytes, request.size);
    await_recordings(server.port, "waiting", WAITING + 1);
    struct pollfd answer = {.fd = asr, .events = POLLIN};
    assert_int_equal(poll(&answer, 1, 0), 0);
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    for (int i = 0; i < RUNNING + WAITING; i++) {
        close(clients[i]);
    }
    close(asr);
}

/* Sends a request for the transcript of a recording; returns the connection. */
static int begin_short(int port, double seconds)
{
    struct http_form form = form_of_sound(seconds);
    http_form_field(&form, "temperature", "1");
    form = http_form_request(&form, TRANSCRIPTIONS);
    int client = http_connect(port);
    http_send(client, form.bytes, form.size);
    return client;
}

/* More requests than are transcribed at a time: all are answered, as they are alone. */
static void test_many(void **state)
{
    enum { KINDS = 3, MANY = 48 };
    char *expected[KINDS];
    int clients[MANY];
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        http_receive(&last, begin_short(shared.port, 0.5 + i));
        assert_int_equal(last.status, 200);
        expected[i] = process_format("%s", last.body);
        assert_true(i == 0 || strcmp(expected[i], expected[i - 1]) != 0);
    }
    for (int i = 0; i < MANY; i++) {
        clients[i] = begin_short(shared.port, 0.5 + i % KINDS);
    }
    for (int i = 0; i < MANY; i++) {
        http_receive(&last, clients[i]);
        assert_int_equal(last.status, 200);
        assert_string_equal(last.body, expected[i % KINDS]);
    }
}

/* A signal ends running transcriptions after the grace period. */
static void test_stop(void **state)
{
    char byte;
    (void)state;
    struct http_server server = http_start(process_format("%s --grace 0", model_flag()));
    int plain = begin_long(server.port, "false"), stream = begin_long(server.port, "true");
    assert_int_equal(recv(stream, &byte, 1, 0), 1);
    double start = seconds_now();
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_true(seconds_now() - start < 20);
    http_receive(&last, plain);
    assert_true(last.status == 0 || last.status == 503);
    http_receive(&last, stream);
    assert_null(strstr(last.bytes, "transcript.text.done"));
}

static void test_keys(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "keys", "abc\nslow 1\n", 11);
    struct http_server server =
        http_start(process_format("%s --require-api-key --api-keys %s/keys", model_flag(), folder));
    struct http_form form = {.bytes = NULL};
    http_form_file(&form, "file", "a", "abc", 3);
    http_form_post(&last, server.port, TRANSCRIPTIONS, &form);
    assert_int_equal(last.status, 401);
    assert_non_null(strstr(last.body, "\"code\":\"invalid_api_key\"}}"));
    http_form_post(&last, server.port, "/asr", &form);
    assert_int_equal(last.status, 401);
    assert_string_equal(last.body, "");
    static const char *const requests[][2] = {{"wrong", "401"}, {"abc", "200"}, {"slow", "200"}};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *text = process_format("GET /v1/models HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                          "Authorization: Bearer %s\r\n\r\n",
                                          requests[i][0]);
        http_exchange(&last, server.port, text, strlen(text));
        assert_int_equal(last.status, atoi(requests[i][1]));
    }
    for (int i = 0; i < 2; i++) {
        static const char text[] = "POST " TRANSCRIPTIONS " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                   "Authorization: bearer slow\r\nContent-Length: 0\r\n\r\n";
        http_exchange(&last, server.port, text, strlen(text));
        assert_int_equal(last.status, i == 0 ? 400 : 429);
    }
    assert_non_null(strstr(last.bytes, "\r\nRetry-After: 10\r\n"));
    assert_non_null(strstr(last.body, "\"code\":\"rate_limit_exceeded\"}}"));
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

static int start_shared(void **state)
{
    (void)state;
    shared = http_start(process_format("%s -m " DEMO_MODEL " --max-upload 1", model_flag()));
    return 0;
}

static void test_end(void **state)
{
    (void)state;
    http_end(&shared);
}

static int stop_shared(void **state)
{
    http_kill(&shared);
    return support_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_packets, support_teardown),
        cmocka_unit_test_teardown(test_limits, support_teardown),
        cmocka_unit_test_teardown(test_chunked_upload, support_teardown),
        cmocka_unit_test_teardown(test_parallel_clients, support_teardown),
        cmocka_unit_test_teardown(test_stream, support_teardown),
        cmocka_unit_test_teardown(test_gone, support_teardown),
        cmocka_unit_test_teardown(test_busy, support_teardown),
        cmocka_unit_test_teardown(test_full_queue, support_teardown),
        cmocka_unit_test_teardown(test_many, support_teardown),
        cmocka_unit_test_teardown(test_stop, support_teardown),
        cmocka_unit_test_teardown(test_keys, support_teardown),
        cmocka_unit_test_teardown(test_end, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
