/* `clformer serve`: answers, errors, parallel and misbehaving clients, and termination by a signal. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <clformer/document.h>
#include <jansson.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

static struct http_server shared; /* of most tests */
static struct http_answer last;

static void check(const char *line, const char *type, const char *body, int status, const char *expected)
{
    http_check(&last, shared.port, line, type, body, status, expected);
}

static void check_json(const char *fields, const char *expected)
{
    check("POST /translate", JSON_TYPE, process_format("{%s,\"source\":\"fr\",\"target\":\"en\"}", fields),
          200, expected);
}

static void check_error(const char *type, const char *body, const char *error)
{
    check("POST /translate", type, body, 400, process_format("{\"error\":\"%s\"}", error));
}

/* The translations of the command, as a JSON array. */
static json_t *translate_lines(const json_t *lines)
{
    char *input = process_format("%s", "");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        input = process_format("%s%s\n", input, json_string_value(json_array_get(lines, i)));
    }
    struct process_result result = run_clformer(input, "translate -m " DEMO_MODEL " -q --split-sentences");
    assert_int_equal(result.status, 0);
    json_t *array = json_array();
    for (char *rest = result.output, *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
        json_array_append_new(array, json_stringn(rest, (size_t)(end - rest)));
    }
    assert_int_equal(json_array_size(array), json_array_size(lines));
    return array;
}

/* The first lines of the model's example texts. */
static json_t *read_lines(int count)
{
    size_t size;
    char *rest = process_read(DEMO_MODEL, "work.txt", &size), *line;
    json_t *lines = json_array();
    for (int i = 0; i < count && (line = strtok_r(rest, "\n", &rest)) != NULL; i++) {
        json_array_append_new(lines, json_string(line));
    }
    return lines;
}

static char *request_body(json_t *q)
{
    json_t *object = json_pack("{s:O, s:s, s:s}", "q", q, "source", "fr", "target", "en");
    char *text = json_dumps(object, JSON_COMPACT), *kept = process_format("%s", text);
    free(text);
    json_decref(object);
    return kept;
}

static void check_translations(const struct http_answer *answer, const json_t *expected)
{
    assert_int_equal(answer->status, 200);
    json_t *object = json_loads(answer->body, 0, NULL);
    if (!json_equal(json_object_get(object, "translatedText"), expected)) {
        fail_msg("another translation: %s", answer->body);
    }
    json_decref(object);
}

static void test_equal_to_command(void **state)
{
    (void)state;
    json_t *lines = read_lines(support_small() ? 8 : 64), *expected = translate_lines(lines);
    http_request(&last, shared.port, "POST /translate", JSON_TYPE, request_body(lines));
    check_translations(&last, expected);
    json_decref(lines);
    json_decref(expected);
}

static void test_texts(void **state)
{
    (void)state;
    check_json("\"q\":\"Merci.\"", "{\"translatedText\":\"Thanks.\"}");
    check_json("\"q\":[\"Merci.\",\"\",\"Oui.\"]", "{\"translatedText\":[\"Thanks.\",\"\",\"Yes.\"]}");
    check_json("\"q\":\"Merci.\\nOui.\\r\\n\\n  \\nMerci.\\n\"",
               "{\"translatedText\":\"Thanks.\\nYes.\\r\\n\\n  \\nThanks.\\n\"}");
    check_json("\"q\":\"Merci. Oui.\"", "{\"translatedText\":\"Thanks. Yes.\"}");
    check_json("\"q\":\"   \"", "{\"translatedText\":\"   \"}");
    check_json("\"q\":\"\\n\"", "{\"translatedText\":\"\\n\"}");
    check_json("\"q\":\"Oui.\",\"alternatives\":-3,\"format\":\"\",\"api_key\":null",
               "{\"translatedText\":\"Yes.\"}");
    check_json("\"q\":\"Oui.\",\"alternatives\":null,\"format\":null", "{\"translatedText\":\"Yes.\"}");
    check_json("\"q\":[\"Oui. Merci.\",\"\"],\"alternatives\":\"2\"",
               "{\"alternatives\":[[],[]],\"translatedText\":[\"Yes. Thanks.\",\"\"]}");
    check("POST /translate", "application/vnd.api+json; charset=utf-8",
          "\xef\xbb\xbf{\"q\":\"Oui.\",\"source\":\"FR\",\"target\":\"En\"}", 200,
          "{\"translatedText\":\"Yes.\"}");
    check("POST /translate", JSON_TYPE, "{\"q\":\"Oui &amp;\",\"source\":\"fr\",\"target\":\"fr\"}", 200,
          "{\"translatedText\":\"Oui &amp;\"}");
    /* Other translations of a sentence. */
    http_request(&last, shared.port, "POST /translate", JSON_TYPE,
                 "{\"q\":\"Merci beaucoup.\",\"source\":\"fr\",\"target\":\"en\",\"alternatives\":2.7}");
    json_t *object = json_loads(last.body, 0, NULL), *others = json_object_get(object, "alternatives");
    assert_string_equal(json_string_value(json_object_get(object, "translatedText")), "Thank you very much.");
    assert_int_equal(json_array_size(others), 2);
    assert_string_not_equal(json_string_value(json_array_get(others, 0)), "Thank you very much.");
    json_decref(object);
}

static void test_forms(void **state)
{
    (void)state;
    check("POST /translate", FORM_TYPE, "q=Merci.%0d%0aOui.%0d%0a%0d%0aMerci.%0d%0a&source=fr&target=en", 200,
          "{\"translatedText\":\"Thanks.\\nYes.\\n\\nThanks.\"}");
    check("POST /translate", FORM_TYPE "; charset=utf-8", "q=Oui.&q=Merci.&source=fr&target=en", 200,
          "{\"translatedText\":\"Yes.\"}");
    check("POST /translate?q=Merci.&source=fr&target=en", FORM_TYPE, "", 200,
          "{\"translatedText\":\"Thanks.\"}");
    check("POST /translate?q=Merci.", FORM_TYPE, "q=Oui.&source=fr&target=en", 200,
          "{\"translatedText\":\"Thanks.\"}");
    check("POST /translate", "multipart/form-data; boundary=limit",
          "--limit\r\nContent-Disposition: form-data; "
          "name=\"q\"\r\n\r\nOui.\r\n--limit\r\nContent-Disposition: "
          "form-data; "
          "name=\"source\"\r\n\r\nfr\r\n--limit\r\nContent-Disposition: form-data; "
          "name=\"target\"\r\n\r\nen\r\n--limit--\r\n",
          200, "{\"translatedText\":\"Yes.\"}");
}

#define NOT_UNDERSTOOD "The browser (or proxy) sent a request that this server could not understand."
#define MISSING_Q      "Invalid request: missing q parameter"

static void test_errors(void **state)
{
    static const struct {
        const char *fields, *error; /* with source fr, target en */
    } cases[] = {
        {"\"q\":\"\"", MISSING_Q},
        {"\"q\":[]", MISSING_Q},
        {"\"q\":null", MISSING_Q},
        {"\"api_key\":\"\"", MISSING_Q},
        {"\"q\":123", "Invalid request: q parameter is not a string or an array of strings"},
        {"\"q\":{}", "Invalid request: q parameter is not a string or an array of strings"},
        {"\"q\":[\"a\",1]", "Invalid request: q parameter is not a string or an array of strings"},
        {"\"q\":\"a\",\"alternatives\":\"abc\"", "Invalid request: alternatives parameter is not a number"},
        {"\"q\":\"a\",\"alternatives\":[]", "Invalid request: alternatives parameter is not a number"},
        {"\"q\":\"a\",\"alternatives\":6", "Invalid request: alternatives parameter must be <= 5"},
        {"\"q\":\"a\",\"alternatives\":1e300", "Invalid request: alternatives parameter must be <= 5"},
        {"\"q\":\"a\",\"alternatives\":99999999999999999999",
         "Invalid request: alternatives parameter must be <= 5"},
        {"\"q\":\"a\",\"format\":\"HTML\"", "HTML format is not supported"},
        {"\"q\":\"a\",\"format\":1", "Invalid request: format parameter is not a string"},
        {"\"q\":\"a\\u0000b\"", NOT_UNDERSTOOD},
        {"\"q\":\"\\ud800\"", NOT_UNDERSTOOD},
        {"\"q\":\"\xff\"", NOT_UNDERSTOOD},
        {"\"q\":", NOT_UNDERSTOOD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_error(JSON_TYPE, process_format("{%s,\"source\":\"fr\",\"target\":\"en\"}", cases[i].fields),
                    cases[i].error);
    }
    check_error(JSON_TYPE, "{\"q\":\"a\",\"target\":\"en\"}", "Invalid request: missing source parameter");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"fr\"}", "Invalid request: missing target parameter");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":5,\"target\":\"en\"}",
                "Invalid request: source parameter is not a string");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"XX\",\"target\":\"zz\"}", "xx is not supported");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"fr\",\"target\":\"zh-CN\"}", "zh-cn is not supported");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"fr\",\"target\":\"auto\"}", "auto is not supported");
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"en\",\"target\":\"fr\"}",
                "French (fr) is not available as a target language from English (en)");
    check_error(JSON_TYPE, "[1]", "Invalid JSON format");
    check_error(JSON_TYPE, "null", "Invalid JSON format");
    check_error(JSON_TYPE, "", NOT_UNDERSTOOD);
    check_error(JSON_TYPE, "{\"q\":\"a\",\"source\":\"fr\",\"target\":\"en\" \"api_key\":\"k\" }",
                NOT_UNDERSTOOD);
    check_error("text/plain", "{\"q\":\"a\",\"source\":\"fr\",\"target\":\"en\"}", MISSING_Q);
    check_error(FORM_TYPE, "", MISSING_Q);
    check_error(FORM_TYPE, "q=a&source=fr&target=en&alternatives=abc",
                "Invalid request: alternatives parameter is not a number");
    check_error(FORM_TYPE, "q=%ff&source=fr&target=en", NOT_UNDERSTOOD);
    check_error(FORM_TYPE, "q=a%00b&source=fr&target=en", NOT_UNDERSTOOD);
    check("POST /translate?q=a&source=fr&target=en", JSON_TYPE, "{\"q\":\"x\"}", 400,
          "{\"error\":\"Invalid request: missing source parameter\"}");
}

static void check_auto(const char *q, int status, const char *expected)
{
    check("POST /translate", JSON_TYPE, process_format("{\"q\":%s,\"source\":\"auto\",\"target\":\"en\"}", q),
          status, expected);
}

#ifdef CLF_HAS_CLD2

static void test_detection(void **state)
{
    static const char unknown[] = "[{\"confidence\":0.0,\"language\":\"en\"}]";
    static const char french[] = "[{\"confidence\":97.0,\"language\":\"fr\"}]";
    (void)state;
    check("POST /detect", FORM_TYPE, "q=Bonjour+tout+le+monde,+comment+allez-vous%3f", 200, french);
    check("POST /detect", JSON_TYPE, "{\"q\":[\"Bonjour tout le monde,\",\"comment allez-vous\\u0001?\"]}",
          200, french);
    check("POST /detect", JSON_TYPE, "{\"q\":\"12345\"}", 200, unknown);
    check("POST /detect", JSON_TYPE, "{\"q\":[\"\",\"\\uffff\"]}", 200, unknown);
    check("POST /detect", JSON_TYPE, "{\"q\":\"我们是学生\"}", 200,
          "[{\"confidence\":94.0,\"language\":\"zh-Hans\"}]");
    check("POST /detect", JSON_TYPE, "{}", 400, "{\"error\":\"" MISSING_Q "\"}");
    check("POST /detect", JSON_TYPE, "{\"q\":[1]}", 400,
          "{\"error\":\"Invalid request: q parameter is not a string or an array of strings\"}");
    check_auto("[\"Oui.\",\"\",\"Merci.\"]", 200,
               "{\"detectedLanguage\":[{\"confidence\":90.0,\"language\":\"fr\"},{\"confidence\":90.0,"
               "\"language\":\"fr\"},{\"confidence\":90.0,\"language\":\"fr\"}],"
               "\"translatedText\":[\"Yes.\",\"\",\"Thanks.\"]}");
    check_auto("\" \"", 200,
               "{\"detectedLanguage\":{\"confidence\":0.0,\"language\":\"fr\"},\"translatedText\":\" \"}");
    check_auto("\"Guten Morgen, wie geht es Ihnen?\"", 400,
               "{\"error\":\"The detected language (de) is not available as a source language\"}");
}

#else

static void test_detection(void **state)
{
    (void)state;
    check("POST /detect", JSON_TYPE, "{\"q\":\"Oui.\"}", 501,
          "{\"error\":\"This server was built without language detection\"}");
    check_auto(
        "[\"Oui.\"]", 200,
        "{\"detectedLanguage\":[{\"confidence\":100.0,\"language\":\"fr\"}],\"translatedText\":[\"Yes.\"]}");
}

#endif

/* Returns the suffixes of all formats of the library, as a list of JSON without brackets. */
static const char *file_kinds(void)
{
    char *kinds = support_array(4096, 1), *at = kinds;
    const struct clf_document_format *format;
    for (int i = 0; (format = clf_document_format_at(i)) != NULL; i++) {
        for (const char *suffix = format->suffixes; *suffix != '\0'; suffix += strspn(suffix, " ")) {
            int size = (int)strcspn(suffix, " ");
            at += sprintf(at, "%s\"%.*s\"", at > kinds ? "," : "", size, suffix);
            suffix += size;
        }
    }
    return kinds;
}

static void test_endpoints(void **state)
{
    static const char not_allowed[] = "{\"error\":\"Method Not Allowed\"}";
    static const char not_found[] = "{\"error\":\"Not Found\"}";
    (void)state;
    check("GET /languages", "", "", 200,
          "[{\"code\":\"en\",\"name\":\"English\",\"targets\":[\"en\"]},"
          "{\"code\":\"fr\",\"name\":\"French\",\"targets\":[\"en\",\"fr\"]}]");
    check("GET /frontend/settings", "", "", 200,
          process_format(
              "{\"apiKeys\":false,\"charLimit\":-1,\"filesTranslation\":true,\"frontendTimeout\":500,"
              "\"keyRequired\":false,\"language\":{\"source\":{\"code\":\"auto\",\"name\":\"Auto Detect\"},"
              "\"target\":{\"code\":\"en\",\"name\":\"English\"}},\"suggestions\":false,"
              "\"supportedFilesFormat\":[%s]}",
              file_kinds()));
    check("GET /health", "", "", 200, "{\"status\":\"ok\"}");
    check("GET /ready", "", "", 200, "{\"status\":\"ready\"}");
    check("HEAD /languages", "", "", 200, "");
    check("GET /translate?q=a", "", "", 405, not_allowed);
    assert_non_null(strstr(last.bytes, "\r\nAllow: POST\r\n"));
    check("POST /languages", "", "", 405, not_allowed);
    check("POST /translate/", JSON_TYPE, "{}", 404, not_found);
    check("GET /none", "", "", 404, not_found);
}

/* Clients that violate HTTP; the next client gets an answer. */
static void test_broken_clients(void **state)
{
    (void)state;
    static const char partial[] = "POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: " JSON_TYPE
                                  "\r\nContent-Length: 1000\r\n\r\n{\"q\":\"Mer";
    for (size_t size = 1; size < sizeof partial; size += 20) {
        int client = http_connect(shared.port);
        http_send(client, partial, size);
        close(client);
    }
    static const char huge[] =
        "POST /translate HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999\r\n\r\n{";
    http_exchange(&last, shared.port, huge, strlen(huge));
    assert_int_equal(last.status, 413);
    assert_string_equal(last.body, "{\"error\":\"The request body exceeds 1048576 bytes\"}");
    static const char chunked[] = "POST /translate HTTP/1.1\r\nHost: test\r\nConnection: "
                                  "close\r\nTransfer-Encoding: chunked\r\n\r\n140000\r\n";
    char *bytes = support_array(sizeof chunked + 0x140000 + 16, 1);
    memcpy(bytes, chunked, sizeof chunked - 1);
    memset(bytes + sizeof chunked - 1, 'a', 0x140000);
    memcpy(bytes + sizeof chunked - 1 + 0x140000, "\r\n0\r\n\r\n", 7);
    http_exchange(&last, shared.port, bytes, sizeof chunked - 1 + 0x140000 + 7);
    assert_int_equal(last.status, 413);
    static const char *const garbage[] = {"GARBAGE\r\n\r\n", "\r\n\r\n\x16\x03\x01\r\n\r\n", "GET\r\n\r\n",
                                          "GET / HTTP/9.9\r\n\r\n"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        int client = http_connect(shared.port);
        http_send(client, garbage[i], strlen(garbage[i]));
        shutdown(client, SHUT_WR);
        http_receive(&last, client);
        assert_true(last.status == 0 || last.status >= 400);
    }
    char *deep = support_array(100001, 1);
    memset(deep, '[', 100000);
    check_error(JSON_TYPE, deep, NOT_UNDERSTOOD);
    check_json("\"q\":\"Merci.\"", "{\"translatedText\":\"Thanks.\"}");
}

enum { CLIENTS = 16 };
struct client {
    const char *request;
    struct http_answer answer;
};

static void *run_client(void *user)
{
    struct client *client = user;
    int connection = http_connect(shared.port);
    http_send(connection, client->request, strlen(client->request));
    http_receive(&client->answer, connection);
    return NULL;
}

static void test_parallel_clients(void **state)
{
    (void)state;
    json_t *lines = read_lines(support_small() ? 4 : 64), *expected = translate_lines(lines);
    const char *body = request_body(lines);
    const char *text = process_format("POST /translate HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                      "Content-Type: " JSON_TYPE "\r\nContent-Length: %zu\r\n\r\n%s",
                                      strlen(body), body);
    struct client *clients = support_array(CLIENTS, sizeof *clients);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].request = text;
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        check_translations(&clients[i].answer, expected);
    }
    json_decref(lines);
    json_decref(expected);
}

/* A running request is answered after SIGTERM, while new connections are refused. */
static void test_stop(void **state)
{
    (void)state;
    static const char body[] = "q=Merci.&source=fr&target=en";
    struct http_server server = http_start("-m " DEMO_MODEL " --verbose");
    int client = http_begin(server.port, body);
    kill(server.process.child, SIGTERM);
    for (int other; (other = http_connect(server.port)) >= 0; http_pause()) {
        close(other);
    }
    http_send(client, body, strlen(body));
    http_receive(&last, client);
    assert_int_equal(last.status, 200);
    assert_string_equal(last.body, "{\"translatedText\":\"Thanks.\"}");
    assert_non_null(strstr(last.bytes, "\r\nConnection: close\r\n"));
    assert_int_equal(coprocess_end(&server.process), 0);
    assert_non_null(strstr(server.process.errors, "clformer: POST /translate 200 "));
    assert_null(strstr(server.process.errors, "Merci"));
}

/* Without a grace period, the connection of the running request is closed. SIGINT ends the process as in
 * other verbs.
 */
static void test_stop_at_once(void **state)
{
    (void)state;
    struct http_server server = http_start("-m fr-en:" DEMO_MODEL " --grace 0 --host localhost");
    int client = http_begin(server.port, "q=Merci.&source=fr&target=en");
    assert_int_equal(http_stop(&server, SIGINT), 128 + SIGINT);
    http_receive(&last, client);
    assert_int_equal(last.status, 0);
}

static void test_refused(void **state)
{
    (void)state;
    struct process_result result;
    const char *folder = process_model_copy(DEMO_MODEL);
    process_write(folder, "tokenizer_config.json", "{\"model_max_length\":256}", 24);
    result = run_clformer(NULL, process_format("serve --port 0 -m %s", folder));
    assert_refused(
        result, 2,
        process_format("%s: does not name its languages; put them before the model, such as -m fr-en:%s",
                       folder, folder));
    result = run_clformer(NULL, process_format("serve --port %d -m " DEMO_MODEL, shared.port));
    assert_refused(result, 2, process_format("127.0.0.1, port %d: Address already in use", shared.port));
    result =
        run_clformer(NULL, process_format("serve --port 0 -m fr-en:%s/speech", support_fixture("models")));
    assert_refused(result, 2, "is a speech model; serve requires a model that reads text");
    result = run_clformer(NULL, "serve --port 65536 -m " DEMO_MODEL);
    assert_refused(result, 2, "port 65536");
    result = run_clformer(NULL, "serve");
    assert_refused(result, 2, "requires a model");
}

static int start_shared(void **state)
{
    (void)state;
    shared = http_start("-m " DEMO_MODEL " --max-body 1");
    return 0;
}

/* The shared server ends without an error, after everything its clients did. */
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
        cmocka_unit_test_teardown(test_equal_to_command, support_teardown),
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_forms, support_teardown),
        cmocka_unit_test_teardown(test_errors, support_teardown),
        cmocka_unit_test_teardown(test_detection, support_teardown),
        cmocka_unit_test_teardown(test_endpoints, support_teardown),
        cmocka_unit_test_teardown(test_broken_clients, support_teardown),
        cmocka_unit_test_teardown(test_parallel_clients, support_teardown),
        cmocka_unit_test_teardown(test_stop, support_teardown),
        cmocka_unit_test_teardown(test_stop_at_once, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_end, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, stop_shared);
}

#else

static void test_built_without(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "serve -m " DEMO_MODEL);
    assert_refused(result, 1, "built without libmicrohttpd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_built_without, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
