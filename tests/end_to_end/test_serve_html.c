/* `clformer serve`: requests with format html. */
#include <signal.h>
#include <string.h>

#include "support/http.h"

#ifdef CLF_HAS_SERVER

static struct http_answer last;

static void check(const char *type, const char *body, int status, const char *expected)
{
    http_check(&last, http_shared.port, "POST /translate", type, body, status, expected);
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
    /* LibreTranslate's test case 24, and a Mastodon emoji. */
    check_html("\"q\":\"<code>x = 1</code> Merci. <span translate=no>Oui</span>\"",
               "{\"translatedText\":\"<code>x = 1</code> Thanks. <span translate=no>Oui</span>\"}");
    check_html("\"q\":\"<span translate=\\\"no\\\">:oui:</span> Merci.\"",
               "{\"translatedText\":\"<span translate=\\\"no\\\">:oui:</span> Thanks.\"}");
    /* A form as sent by Discourse. */
    check(FORM_TYPE, "q=%3Cp%3EMerci.%3C/p%3E&source=fr&target=en&format=html", 200,
          "{\"translatedText\":\"<p>Thanks.</p>\"}");
    check(FORM_TYPE, "q=%3Cp%3EOui+%26eacute;&source=fr&target=fr&format=html", 200,
          "{\"translatedText\":\"<p>Oui &eacute;\"}");
}

/* Removes the tags of an answer. */
static char *without_tags(const char *text)
{
    char *copy = process_format("%s", text), *out = copy;
    int is_tag = 0;
    for (const char *in = text; *in != '\0'; in++) {
        is_tag |= *in == '<';
        if (!is_tag) {
            *out++ = *in;
        }
        is_tag &= *in != '>';
    }
    *out = '\0';
    return copy;
}

static char *translated(const char *target, const char *format, const char *text)
{
    http_request(&last, http_shared.port, "POST /translate", JSON_TYPE,
                 process_format("{\"q\":\"%s\",\"source\":\"fr\",\"target\":\"%s\",\"format\":\"%s\"}", text,
                                target, format));
    assert_int_equal(last.status, 200);
    return process_format("%s", last.body);
}

/* A sentence with inline tags has the translation of the sentence without tags, also through two models; each
 * element contains the words that are aligned with its text. */
static void test_inline(void **state)
{
    (void)state;
    static const struct {
        const char *text, *parts[3];
    } cases[] = {
        {"Je suis <b>\u00e9tudiant</b>.", {"student</b>", "<b>", "I"}},
        {"Il a une <b>maison</b> <i>rouge</i>.", {"<b>house</b>", "<i>red</i>", "He "}},
        {"<u>Merci</u> <b>beaucoup</b>. <i>Oui.</i> <em>Je suis <s>malade</s>.</em>",
         {"<u>Thank you</u>", "<i>Yes.</i>", "<s>sick</s>.</em>"}},
        {"<a>Elle</a> parle <b>anglais</b>.<!-- x -->", {"<a>She</a>", "<b>English</b>", ".<!-- x -->"}},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i / 2].text, *target = i % 2 == 0 ? "en" : "de";
        char *marked = translated(target, "html", text);
        char *plain = translated(target, "text", without_tags(text));
        assert_string_equal(without_tags(marked), plain);
        assert_int_equal(process_count(marked, "<"), process_count(text, "<"));
        for (size_t k = 0; k < 3 && i % 2 == 0; k++) {
            if (strstr(marked, cases[i / 2].parts[k]) == NULL) {
                fail_msg("%s: no %s in %s", text, cases[i / 2].parts[k], marked);
            }
        }
    }
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
          "{\"error\":\"Invalid request: request exceeds line limit (100000)\"}");
}

/* Tags and untranslated text do not affect language detection. */
static void test_detection(void **state)
{
    (void)state;
#ifdef CLF_HAS_CLD2
    http_request(&last, http_shared.port, "POST /translate", JSON_TYPE,
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

static void test_inline(void **state)
{
    (void)state;
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
    return http_start_shared("-m " DEMO_MODEL " -m second=en-de:" DEMO_MODEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_html, support_teardown),
        cmocka_unit_test_teardown(test_inline, support_teardown),
        cmocka_unit_test_teardown(test_limit, support_teardown),
        cmocka_unit_test_teardown(test_detection, support_teardown),
    };
    return cmocka_run_group_tests(tests, start, http_stop_shared);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] built without the server\n");
    return 0;
}

#endif
