/* `clformer serve`: clients that go away, web pages of other origins, and metrics. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

static struct http_answer last;

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The form of a request that takes far longer than the test. */
static const char *long_form(void)
{
    enum { LINES = 10000 };
    static const char line[] = "Ou+est+la+gare%2c+et+quand+part+le+train%3f%0a";
    size_t size = sizeof line - 1;
    char *text = support_array(LINES * size + 1, 1);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * size, line, size);
    }
    return process_format("source=fr&target=en&q=%s", text);
}

/* The request of a client that closes its connection ends, and the other client's requests do not. */
static void test_gone(void **state)
{
    static const char form[] = "q=Merci.%0aOui.&source=fr&target=en";
    static const char expected[] = "{\"translatedText\":\"Thanks.\\nYes.\"}";
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --verbose --grace 600");
    const char *body = long_form();
    int client = http_begin(server.port, body);
    http_send(client, body, strlen(body));
    for (int i = 0; i < 4; i++) {
        http_request(&last, server.port, "POST /translate", FORM_TYPE, form);
        assert_int_equal(last.status, 200);
        assert_string_equal(last.body, expected);
        if (i == 1) {
            close(client);
        }
    }
    double start = seconds();
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_true(seconds() - start < 10); /* about 0.1 on an idle machine */
    assert_non_null(strstr(server.process.errors, "clformer: POST /translate 499 "));
    assert_null(strstr(server.process.errors, "a request failed"));
}

static int has_header(const char *header)
{
    return strstr(last.bytes, process_format("\r\n%s\r\n", header)) != NULL;
}

static void test_cors(void **state)
{
    static const char form[] = "q=Merci.&source=fr&target=en", any[] = "Access-Control-";
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --cors https://example.org:8443 --max-body 1");
    http_request(&last, server.port, "OPTIONS /translate", "", "");
    assert_int_equal(last.status, 200);
    assert_string_equal(last.body, "");
    assert_true(has_header("Access-Control-Allow-Origin: https://example.org:8443"));
    assert_true(has_header("Access-Control-Allow-Headers: Authorization, Content-Type"));
    assert_true(has_header("Access-Control-Expose-Headers: Authorization"));
    assert_true(has_header("Access-Control-Allow-Methods: GET, POST"));
    assert_true(has_header("Access-Control-Allow-Credentials: true"));
    assert_true(has_header("Access-Control-Max-Age: 1728000"));
    http_request(&last, server.port, "POST /translate", FORM_TYPE, form);
    assert_string_equal(last.body, "{\"translatedText\":\"Thanks.\"}");
    assert_true(has_header("Access-Control-Allow-Origin: https://example.org:8443"));
    assert_true(has_header("Content-Type: application/json"));
    http_request(&last, server.port, "POST /translate", FORM_TYPE, "");
    assert_int_equal(last.status, 400); /* a page may read the error */
    assert_true(has_header("Access-Control-Allow-Origin: https://example.org:8443"));
    http_request(&last, server.port, "OPTIONS /other", "", "");
    assert_int_equal(last.status, 404);
    assert_null(strstr(last.bytes, any));
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    server = http_start("-m " DEMO_MODEL);
    http_request(&last, server.port, "OPTIONS /translate", "", "");
    assert_int_equal(last.status, 405);
    http_request(&last, server.port, "POST /translate", FORM_TYPE, form);
    assert_int_equal(last.status, 200);
    assert_null(strstr(last.bytes, any));
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    struct process_result result = run_clformer(NULL, "serve --cors example.org -m " DEMO_MODEL);
    assert_refused(result, 2, "--cors example.org: is not an origin, such as https://example.org, or *");
    result = run_clformer(NULL, "serve --cors https://example.org/ -m " DEMO_MODEL);
    assert_refused(result, 2, "--cors https://example.org/: is not an origin");
}

/* Returns the value of a line of the metrics, or -1. */
static double metric(const char *name)
{
    const char *line = strstr(last.body, process_format("\n%s ", name));
    return line != NULL ? strtod(line + 1 + strlen(name), NULL) : -1;
}

#define DURATION "clformer_request_duration_seconds"

/* Reads the metrics when the earlier requests have ended, which may be after their clients have the answers.
 */
static void read_metrics(int port)
{
    for (int i = 0; i < 1000; i++) {
        http_request(&last, port, "GET /metrics", "", "");
        assert_int_equal(last.status, 200);
        if (metric("clformer_requests_in_flight") == 1) {
            return;
        }
        http_pause();
    }
    fail_msg("requests do not end:\n%s", last.body);
}

static void test_metrics(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " --metrics");
    for (int i = 0; i < 3; i++) {
        const char *form = i < 2 ? "q=Merci.%0aOui.&source=fr&target=en" : "";
        http_request(&last, server.port, "POST /translate", FORM_TYPE, form);
        assert_int_equal(last.status, i < 2 ? 200 : 400);
    }
    http_request(&last, server.port, "GET /a%22b", "", "");
    read_metrics(server.port);
    assert_true(has_header("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    assert_true(metric("clformer_requests_total{endpoint=\"/translate\",status=\"200\"}") == 2);
    assert_true(metric("clformer_requests_total{endpoint=\"/translate\",status=\"400\"}") == 1);
    assert_true(metric("clformer_requests_total{endpoint=\"other\",status=\"404\"}") == 1);
    assert_true(metric(DURATION "_count{endpoint=\"/translate\"}") == 3);
    assert_true(metric(DURATION "_bucket{endpoint=\"/translate\",le=\"+Inf\"}") == 3);
    assert_true(metric(DURATION "_bucket{endpoint=\"/translate\",le=\"0.005\"}") >= 0);
    assert_true(metric(DURATION "_sum{endpoint=\"/translate\"}") > 0);
    assert_true(metric("clformer_lines_total{model=\"fr-en-small\"}") == 4);
    assert_true(metric("clformer_source_tokens_total{model=\"fr-en-small\"}") >= 4);
    assert_true(metric("clformer_target_tokens_total{model=\"fr-en-small\"}") >= 4);
    assert_true(metric("clformer_device_memory_bytes{device=\"0\"}") > 1e6);
    assert_in_range((int)metric("clformer_batches_total{model=\"fr-en-small\"}"), 1, 4);
    assert_in_range((int)metric("clformer_steps_total{model=\"fr-en-small\"}"), 2, 1000);
    assert_true(metric("clformer_step_rows_total{model=\"fr-en-small\"}") >=
                metric("clformer_steps_total{model=\"fr-en-small\"}"));
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    server = http_start("-m " DEMO_MODEL);
    http_request(&last, server.port, "GET /metrics", "", "");
    assert_int_equal(last.status, 404);
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gone, support_teardown),
        cmocka_unit_test_teardown(test_cors, support_teardown),
        cmocka_unit_test_teardown(test_metrics, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
