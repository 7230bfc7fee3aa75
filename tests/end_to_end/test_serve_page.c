/* `clformer serve`: the web page at / and the files that it loads. test_serve_browser.c uses the page. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

static struct http_server server;
static struct http_answer last;

static const struct {
    const char *path, *type;
} files[] = {
    {"/", "text/html; charset=utf-8"},
    {"/page/page.css", "text/css; charset=utf-8"},
    {"/page/page.js", "text/javascript; charset=utf-8"},
    {"/page/translator.js", "text/javascript; charset=utf-8"},
    {"/page/files.js", "text/javascript; charset=utf-8"},
    {"/page/server.js", "text/javascript; charset=utf-8"},
    {"/page/icon.svg", "image/svg+xml"},
    {"/robots.txt", "text/plain; charset=utf-8"},
};
enum { FILES = sizeof files / sizeof *files };

static void request(const char *method, const char *path)
{
    http_request(&last, server.port, process_format("%s %s", method, path), "", "");
}

static int has_header(const char *line)
{
    const char *found = strstr(last.bytes, process_format("\r\n%s\r\n", line));
    return found != NULL && found < last.body;
}

static void check_headers(const char *type)
{
    assert_int_equal(last.status, 200);
    assert_true(has_header(process_format("Content-Type: %s", type)));
    assert_true(
        has_header("Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'"));
    assert_true(has_header("X-Content-Type-Options: nosniff"));
    assert_true(has_header("Referrer-Policy: no-referrer"));
    assert_true(has_header("Cache-Control: no-cache"));
}

static void test_files(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        request("GET", files[i].path);
        check_headers(files[i].type);
        assert_true(strlen(last.body) > 10);
        request("HEAD", files[i].path);
        check_headers(files[i].type);
        assert_string_equal(last.body, "");
        request("POST", files[i].path);
        assert_int_equal(last.status, 405);
        assert_true(has_header("Allow: GET, HEAD"));
    }
    request("GET", "/page/");
    assert_int_equal(last.status, 404);
    request("GET", "/page/../page.css");
    assert_int_equal(last.status, 404);
}

/* A browser with an up-to-date file gets status 304. */
static void test_known_file(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        request("GET", files[i].path);
        const char *line = strstr(last.bytes, "\r\nETag: \"");
        assert_non_null(line);
        const char *tag = process_format("%.18s", line + strlen("\r\nETag: "));
        const char *text = process_format("GET %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                          "If-None-Match: \"other\", W/%s\r\n\r\n",
                                          files[i].path, tag);
        http_exchange(&last, server.port, text, strlen(text));
        assert_int_equal(last.status, 304);
        assert_string_equal(last.body, "");
        assert_true(has_header(process_format("ETag: %s", tag)));
    }
}

/* The page names no other server, and has no inline script or style, which its policy forbids. */
static void test_one_address(void **state)
{
    static const char svg[] = "\"http://www.w3.org/2000/svg\"";
    (void)state;
    for (int i = 0; i < FILES; i++) {
        request("GET", files[i].path);
        assert_int_equal(process_count(last.body, "://"), process_count(last.body, svg));
        assert_int_equal(process_count(last.body, "innerHTML"), 0);
    }
    request("GET", "/");
    assert_int_equal(process_count(last.body, "<script"), process_count(last.body, "<script src=\"page/"));
    assert_int_equal(process_count(last.body, "<style"), 0);
    assert_int_equal(process_count(last.body, " style="), 0);
}

/* The files have their own entry in the metrics. */
static void test_metrics(void **state)
{
    (void)state;
    request("GET", "/page/page.css");
    request("GET", "/metrics");
    assert_non_null(strstr(last.body, "\nclformer_requests_total{endpoint=\"/\",status=\"200\"} "));
    assert_null(strstr(last.body, "page.css"));
}

static int start_server(void **state)
{
    (void)state;
    server = http_start("-m " DEMO_MODEL " --metrics");
    return 0;
}

static int stop_server(void **state)
{
    int status = http_stop(&server, SIGTERM);
    return status != 0 ? status : support_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_files, support_teardown),
        cmocka_unit_test_teardown(test_known_file, support_teardown),
        cmocka_unit_test_teardown(test_one_address, support_teardown),
        cmocka_unit_test_teardown(test_metrics, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}

#else

int main(void)
{
    return 0;
}

#endif
