/* `clformer serve`: the API of DeepL. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"

static struct http_answer last;

static void check(const char *line, const char *type, const char *body, int status, const char *expected)
{
    http_check(&last, http_shared.port, line, type, body, status, expected);
}

#define THANKS "{\"detected_source_language\":\"FR\",\"text\":\"Thanks.\"}"
#define YES    "{\"detected_source_language\":\"FR\",\"text\":\"Yes.\"}"

static void test_texts(void **state)
{
    (void)state;
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[\"Merci.\",\"Oui.\"],\"target_lang\":\"EN-US\"}", 200,
          "{\"translations\":[" THANKS "," YES "]}");
    check("POST /v2/translate", JSON_TYPE,
          "{\"text\":\"Oui.\",\"source_lang\":\"fr\",\"target_lang\":\"en-gb\"}", 200,
          "{\"translations\":[" YES "]}");
    check("POST /v2/translate", FORM_TYPE,
          "text=Merci.&text=Oui.&target_lang=en&source_lang=FR&formality=more", 200,
          "{\"translations\":[" THANKS "," YES "]}");
    check("POST /v2/translate", JSON_TYPE,
          "{\"text\":[\"Oui.\"],\"target_lang\":\"EN\",\"show_billed_characters\":true}", 200,
          "{\"translations\":[{\"detected_source_language\":\"FR\",\"text\":\"Yes.\",\"billed_characters\":4}"
          "]}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[\"a\"],\"target_lang\":\"XX\"}", 400,
          "{\"message\":\"Value for 'target_lang' not supported.\"}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[\"a\"]}", 400,
          "{\"message\":\"Parameter 'target_lang' not specified.\"}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[\"a\"],\"target_lang\":\"EN\",\"source_lang\":\"XX\"}",
          400, "{\"message\":\"Value for 'source_lang' not supported.\"}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[\"a\",1],\"target_lang\":\"EN\"}", 400,
          "{\"message\":\"Parameter 'text' not specified.\"}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":[],\"target_lang\":\"EN\"}", 400,
          "{\"message\":\"Parameter 'text' not specified.\"}");
    check("POST /v2/translate", JSON_TYPE, "{\"text\":\"a\",\"target_lang\":\"EN\",\"tag_handling\":\"foo\"}",
          400, "{\"message\":\"Value for 'tag_handling' not supported.\"}");
}

/* Weblate's placeholders, and elements that must not be translated. */
static void test_tags(void **state)
{
    (void)state;
    http_request(&last, http_shared.port, "POST /v2/translate", JSON_TYPE,
                 "{\"text\":[\"Oui. <x id=\\\"7\\\"></x><b>Merci.</b><X>Oui.</X>\"],\"source_lang\":\"FR\","
                 "\"target_lang\":\"EN\",\"tag_handling\":\"xml\",\"ignore_tags\":[\"x\"]}");
    if (last.status == 400) {
        skip(); /* built without HTML */
    }
    assert_string_equal(last.body, "{\"translations\":[{\"detected_source_language\":\"FR\",\"text\":"
                                   "\"Yes. <x id=\\\"7\\\"></x><b>Thanks.</b><X>Oui.</X>\"}]}");
}

static void test_lists(void **state)
{
    (void)state;
#define EN "{\"language\":\"EN\",\"name\":\"English\",\"supports_formality\":false}"
#define FR "{\"language\":\"FR\",\"name\":\"French\",\"supports_formality\":false}"
    check("GET /v2/languages?type=target", "", "", 200, "[" EN "]");
    check("GET /v2/languages", FORM_TYPE, "type=target", 200, "[" EN "]"); /* deepl-python */
    check("GET /v2/languages", "", "", 200, "[" FR "]");
    check("GET /v3/languages?resource=translate_text", "", "", 200,
          "[{\"lang\":\"en\",\"usable_as_source\":false,\"usable_as_target\":true,\"features\":{}},"
          "{\"lang\":\"fr\",\"usable_as_source\":true,\"usable_as_target\":false,\"features\":{}}]");
    check("GET /v3/languages?resource=write", "", "", 404,
          "{\"message\":\"resource: only translate_text is available\"}");
    http_request(&last, http_shared.port, "GET /v2/usage", "", "");
    assert_int_equal(last.status, 200);
    const char *count = strstr(last.body, "\"character_count\":");
    assert_true(count != NULL && atoi(strchr(count, ':') + 1) >= 10);
    assert_non_null(strstr(last.body, "\"character_limit\":1000000000000"));
}

static void check_key(int port, const char *header, int status)
{
    static const char body[] = "{\"text\":[\"Oui.\"],\"target_lang\":\"EN\"}";
    const char *request = process_format("POST /v2/translate HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                         "Content-Type: " JSON_TYPE "\r\n%sContent-Length: %zu\r\n\r\n%s",
                                         header, strlen(body), body);
    http_exchange(&last, port, request, strlen(request));
    assert_int_equal(last.status, status);
}

static void test_keys(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *longest = process_format("%0127d\n", 1);
    process_write(folder, "keys", longest, strlen(longest));
    struct http_server server =
        http_start(process_format("-m " DEMO_MODEL " --api-keys %s/keys --require-api-key", folder));
    check_key(server.port, "", 403);
    check_key(server.port, "Authorization: DeepL-Auth-Key x\r\n", 403);
    check_key(server.port, process_format("Authorization: DeepL-Auth-Key %0127d\r\n", 1), 200);
    check_key(server.port, process_format("Authorization: bearer %0127d\r\n", 1), 200);
    /* A longer key that begins with the right one. */
    check_key(server.port, process_format("Authorization: bearer %0127d5\r\n", 1), 403);
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

static int start_shared(void **state)
{
    (void)state;
    return http_start_shared("-m " DEMO_MODEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_tags, support_teardown),
        cmocka_unit_test_teardown(test_lists, support_teardown),
        cmocka_unit_test_teardown(test_keys, support_teardown),
    };
    return cmocka_run_group_tests(tests, start_shared, http_stop_shared);
}

#else

int main(void)
{
    return 0;
}

#endif
