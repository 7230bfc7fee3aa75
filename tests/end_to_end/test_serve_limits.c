/* `clformer serve`: keys, limits, the queue, the time limit and the access log. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "support/http.h"

#define MERCI "q=Merci.&source=fr&target=en"

static struct http_answer last;

static void check(int port, const char *line, const char *body, int status, const char *expected)
{
    http_request(&last, port, line, FORM_TYPE, body);
    if (last.status != status || strstr(last.body, expected) == NULL) {
        fail_msg("%s %s: expected %d %s\ngot %d %s", line, body, status, expected, last.status, last.body);
    }
}

static void check_translate(int port, const char *body, int status, const char *expected)
{
    check(port, "POST /translate", body, status, expected);
}

/* Writes a file of keys and returns its path. */
static char *write_keys(const char *text)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "keys", text, strlen(text));
    return process_format("%s/keys", folder);
}

static void test_keys(void **state)
{
    (void)state;
    static const char keys[] = "# keys\n\nsecret\n  slow 2 \nfree\t0\n";
    char *path = write_keys(keys);
    struct http_server server =
        http_start(process_format("-m " DEMO_MODEL " --api-keys %s --req-limit 1000", path));
    check_translate(server.port, MERCI, 200, "Thanks.");
    check_translate(server.port, MERCI "&api_key=", 200, "Thanks.");
    check_translate(server.port, MERCI "&api_key=secret", 200, "Thanks.");
    check_translate(server.port, MERCI "&api_key=secre", 403, "{\"error\":\"Invalid API key\"}");
    check_translate(server.port, MERCI "&api_key=secrets", 403, "Invalid API key");
    check_translate(server.port, process_format(MERCI "&api_key=%0200d", 0), 403, "Invalid API key");
    check(server.port, "POST /detect", "q=Merci&api_key=x", 403, "Invalid API key");
    check(server.port, "GET /frontend/settings", "", 200, "\"apiKeys\":true");
    check(server.port, "GET /frontend/settings", "", 200, "\"keyRequired\":false");
    for (int i = 0; i < 3; i++) {
        check_translate(server.port, MERCI "&api_key=slow", i < 2 ? 200 : 429,
                        i < 2 ? "Thanks." : "{\"error\":\"Slowdown: 2 per 1 minute\"}");
    }
    check_translate(server.port, MERCI "&api_key=free", 200, "Thanks.");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    server = http_start(process_format("-m " DEMO_MODEL " --api-keys %s --require-api-key", path));
    check_translate(server.port, MERCI, 400, "Please contact the server operator to get an API key");
    check_translate(server.port, "api_key=secret", 400, "missing q parameter");
    check_translate(server.port, MERCI "&api_key=secret", 200, "Thanks.");
    check(server.port, "GET /languages", "", 200, "\"fr\"");
    check(server.port, "GET /frontend/settings", "", 200, "\"keyRequired\":true");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

static void check_refused(const char *flags, int status, const char *message)
{
    struct process_result result =
        run_clformer(NULL, process_format("serve --port 0 -m " DEMO_MODEL " %s", flags));
    assert_refused(result, status, message);
}

static void test_wrong_flags(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *message;
        int status;
    } files[] = {
        {"# none\n", "keys: has no keys", 1},
        {"a 5\nb x\n", "keys, line 2: must be a key", 1},
        {"a 5 6\n", "keys, line 1: must be a key", 1},
        {"a -1\n", "keys, line 1: must be a key", 1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        check_refused(process_format("--api-keys %s", write_keys(files[i].keys)), files[i].status,
                      files[i].message);
    }
    check_refused(process_format("--api-keys %s", write_keys(process_format("a\n%0300d\n", 0))), 1,
                  "keys, line 2: is longer than");
    check_refused("--api-keys /nowhere/keys", 1, "/nowhere/keys: No such file");
    check_refused("--require-api-key", 2, "--require-api-key: requires --api-keys");
    check_refused("--time-limit 0", 2, "at least 1");
    check_refused("--access-log /nowhere/log", 1, "/nowhere/log: No such file");
}

static void test_sizes(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --char-limit 10 --batch-limit 2 --req-limit 8");
    static const char languages[] = "\"source\":\"fr\",\"target\":\"en\"";
    http_request(&last, server.port, "POST /translate", JSON_TYPE,
                 process_format("{\"q\":[\"a\",\"éééééééééé\"],%s}", languages));
    assert_int_equal(last.status, 200); /* characters, not bytes; counts as 2 requests */
    http_request(&last, server.port, "POST /translate", JSON_TYPE,
                 process_format("{\"q\":[\"a\",\"xxxxxxxxxxx\"],%s}", languages));
    assert_string_equal(last.body, "{\"error\":\"Invalid request: request (11) exceeds text limit (10)\"}");
    http_request(&last, server.port, "POST /translate", JSON_TYPE,
                 process_format("{\"q\":[\"a\",\"b\",\"c\"],%s}", languages));
    assert_string_equal(last.body, "{\"error\":\"Invalid request: request (3) exceeds text limit (2)\"}");
    check(server.port, "GET /frontend/settings", "", 200, "\"charLimit\":10");
    check_translate(server.port, MERCI, 200, "Thanks.");
    check_translate(server.port, MERCI, 429, "Slowdown: 8 per 1 minute");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

/* A form whose text has many sentences. */
static char *long_form(int sentences)
{
    static const char sentence[] = "Je+suis+%c3%a9tudiant+et+je+cherche+une+chambre+en+ville.%0a";
    char *form = support_array((size_t)sentences * sizeof sentence + sizeof MERCI, 1);
    char *end = form + sprintf(form, "source=fr&target=en&q=");
    for (int i = 0; i < sentences; i++) {
        end += sprintf(end, "%s", sentence);
    }
    return form;
}

struct client {
    int port;
    const char *request;
    struct http_answer answer;
};

/* Made before the threads start, because process_format() keeps a list. */
static struct client client_of(int port, const char *body)
{
    return (struct client){
        .port = port,
        .request = process_format("POST /translate HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                  "Content-Type: " FORM_TYPE "\r\nContent-Length: %zu\r\n\r\n%s",
                                  strlen(body), body)};
}

static void *run_client(void *user)
{
    struct client *client = user;
    http_exchange(&client->answer, client->port, client->request, strlen(client->request));
    return NULL;
}

/* While a request is running, others wait, or are refused after --wait seconds. */
static void test_queue(void **state)
{
    (void)state;
    enum { CLIENTS = 8 };
    struct client *clients = support_array(CLIENTS, sizeof *clients);
    pthread_t threads[CLIENTS];
    struct http_server server = http_start("-m " DEMO_MODEL " --queue-limit 1 --metrics");
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = client_of(server.port, MERCI);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_create(&threads[i], NULL, run_client, &clients[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].answer.status, 200);
    }
    check(server.port, "GET /metrics", "", 200, "\nclformer_queue_tokens 0\n");
    check(server.port, "GET /metrics", "", 200, "\nclformer_requests_waiting 0\n");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    server = http_start("-m " DEMO_MODEL " --queue-limit 1 --wait 0 --metrics --grace 0");
    clients[0] = client_of(server.port, long_form(20000));
    pthread_create(&threads[0], NULL, run_client, &clients[0]);
    do {
        http_pause();
        http_request(&last, server.port, "GET /metrics", "", "");
    } while (strstr(last.body, "\nclformer_queue_tokens 0\n") != NULL);
    check_translate(server.port, MERCI, 504, "{\"error\":\"The server is busy; try again later\"}");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    pthread_join(threads[0], NULL);
}

static void test_time_limit(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --time-limit 1");
    check_translate(server.port, long_form(100000), 504, "exceeded the time limit of 1 s");
    check_translate(server.port, MERCI, 200, "Thanks.");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

static void test_libretranslate_text(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --libretranslate-text");
    check_translate(server.port, "q=merci&source=fr&target=en", 200,
                    "{\"translatedText\":\"thank you thanks\"}");
    check_translate(server.port, "q=MERCI%3b&source=fr&target=en", 200, ";\"}");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

/* Waits until a file has some lines; returns its text. */
static char *await_lines(const char *folder, const char *name, int lines)
{
    for (;; http_pause()) {
        size_t size;
        if (access(process_format("%s/%s", folder, name), F_OK) != 0) {
            continue;
        }
        char *text = process_read(folder, name, &size);
        int count = 0;
        for (size_t i = 0; i < size; i++) {
            count += text[i] == '\n';
        }
        if (count >= lines) {
            return text;
        }
    }
}

static void test_access_log(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct http_server server =
        http_start(process_format("-m " DEMO_MODEL " --access-log %s/log --json", folder));
    check_translate(server.port, MERCI, 200, "Thanks.");
    check(server.port, "GET /\"\\", "", 404, "Not Found");
    char *text = await_lines(folder, "log", 2);
    json_t *first = json_loadb(text, strcspn(text, "\n"), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(first, "request")), "POST /translate");
    assert_string_equal(json_string_value(json_object_get(first, "client")), "127.0.0.1");
    assert_int_equal(json_integer_value(json_object_get(first, "status")), 200);
    assert_int_equal(json_integer_value(json_object_get(first, "characters")), 6);
    assert_true(json_real_value(json_object_get(first, "seconds")) > 0);
    assert_int_equal(strlen(json_string_value(json_object_get(first, "time"))), 24);
    assert_null(strstr(text, "Merci"));
    json_decref(first);
    /* A program that rotates logs renames the file and sends SIGHUP. */
    assert_int_equal(rename(process_format("%s/log", folder), process_format("%s/old", folder)), 0);
    kill(server.process.child, SIGHUP);
    await_lines(folder, "log", 0);
    check_translate(server.port, MERCI, 200, "Thanks.");
    await_lines(folder, "log", 1);
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    /* A full disk. */
    server = http_start("-m " DEMO_MODEL " --access-log /dev/full");
    check_translate(server.port, MERCI, 200, "Thanks.");
    check_translate(server.port, MERCI, 200, "Thanks.");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    const char *warning =
        strstr(server.process.errors, "clformer: warning: /dev/full: No space left on device");
    assert_non_null(warning);
    assert_null(strstr(warning + strlen("clformer: warning"), "warning"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_keys, support_teardown),
        cmocka_unit_test_teardown(test_wrong_flags, support_teardown),
        cmocka_unit_test_teardown(test_sizes, support_teardown),
        cmocka_unit_test_teardown(test_queue, support_teardown),
        cmocka_unit_test_teardown(test_time_limit, support_teardown),
        cmocka_unit_test_teardown(test_libretranslate_text, support_teardown),
        cmocka_unit_test_teardown(test_access_log, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
