/* `clformer serve`: requests with format html. */
#include <signal.h>
#include <string.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

static struct http_server shared;
static struct http_answer last;

static void check(const char *type, const char *body, int status, const char *expected)
{
    http_check(&last, shared.port, "POST /translate", type, body, status, expected);
}

#ifdef CLF_HAS_HTML

static void check_html(const char *fields, const char *expected)
{
    check(JSON_TYPE, process_format("{%s,\"source\":\"fr\",\"target\":\"en\",\"format\":\"html\"}", fields),
          200, expected);
}

static void test_html(void **state)
{
    (void)state;
    check_html("\"q\":\"<P id='a'>Merci.&nbsp;<!-- Oui. --><br>Je suis\\n &eacute;tudiant</P >\"",
               "{\"translatedText\":\"<P id='a'>Thanks.&nbsp;<!-- Oui. --><br>I'm a student.</P >\"}");
    check_html("\"q\":[\"\",\"<p>Merci.</p> <i>Oui.</i>\",\" \",\"<br>\"],\"alternatives\":2",
               "{\"alternatives\":[[],[],[],[]],"
               "\"translatedText\":[\"\",\"<p>Thanks.</p> <i>Yes.</i>\",\" \",\"<br>\"]}");
    /* Case 24 of LibreTranslate, and an emoji of Mastodon. */
    check_html("\"q\":\"<code>x = 1</code> Merci. <span translate=no>Oui</span>\"",
               "{\"translatedText\":\"<code>x = 1</code> Thanks. <span translate=no>Oui</span>\"}");
    check_html("\"q\":\"<span translate=\\\"no\\\">:oui:</span> Merci.\"",
               "{\"translatedText\":\"<span translate=\\\"no\\\">:oui:</span> Thanks.\"}");
    /* A form, as Discourse sends. */
    check(FORM_TYPE, "q=%3Cp%3EMerci.%3C/p%3E&source=fr&target=en&format=html", 200,
          "{\"translatedText\":\"<p>Thanks.</p>\"}");
    check(FORM_TYPE, "q=%3Cp%3EOui+%26eacute;&source=fr&target=fr&format=html", 200,
          "{\"translatedText\":\"<p>Oui &eacute;\"}");
}

static void test_limit(void **state)
{
    enum { LINES = 100001 };
    (void)state;
    char *text = support_array(4 * LINES + 1, 1);
    for (int i = 0; i < LINES; i++) {
        memcpy(text + (size_t)i * 4, "a<b>", 4);
    }
    check(FORM_TYPE, process_format("source=fr&target=en&format=html&q=%s", text), 400,
          "{\"error\":\"Invalid request: request (100001 lines) exceeds line limit (100000)\"}");
}

/* Tags, and text that is not translated, have no language. */
static void test_detection(void **state)
{
    (void)state;
#ifdef CLF_HAS_CLD2
    http_request(&last, shared.port, "POST /translate", JSON_TYPE,
                 "{\"q\":\"<p class='the best of all'>Merci beaucoup.<code>What is the best of all?</code>\","
                 "\"source\":\"auto\",\"target\":\"en\",\"format\":\"html\"}");
    assert_int_equal(last.status, 200);
    assert_non_null(strstr(last.body,
                           "\"language\":\"fr\"},\"translatedText\":\"<p class='the best of all'>Thank you "
                           "very much.<code>What is the best of all?</code>\"}"));
#endif
}

#else

static void test_html(void **state)
{
    (void)state;
    check(JSON_TYPE, "{\"q\":\"a\",\"source\":\"fr\",\"target\":\"en\",\"format\":\"html\"}", 400,
          "{\"error\":\"html format is not supported\"}");
}

static void test_limit(void **state)
{
    (void)state;
}

static void test_detection(void **state)
{
    (void)state;
}

#endif

static int start(void **state)
{
    (void)state;
    shared = http_start("-m " DEMO_MODEL);
    return 0;
}

static int stop(void **state)
{
    int status = http_stop(&shared, SIGTERM);
    if (status != 0) {
        print_error("the server ended with %d:\n%s", status, shared.process.errors);
    }
    support_teardown(state);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_html, support_teardown),
        cmocka_unit_test_teardown(test_limit, support_teardown),
        cmocka_unit_test_teardown(test_detection, support_teardown),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] built without the server\n");
    return 0;
}

#endif
