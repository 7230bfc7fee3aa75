/* `clformer serve` with several models: names, routes through several models, and which model translates. */
#include "support/support.h"

#ifdef CLF_HAS_SERVER
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/http.h"

static struct http_answer last;

static json_t *get(int port, const char *line, const char *body)
{
    http_request(&last, port, line, FORM_TYPE, body);
    json_t *value = json_loads(last.body, 0, NULL);
    if (last.status != 200 || value == NULL) {
        fail_msg("%s %s: %d %s", line, body, last.status, last.body);
    }
    return value;
}

static char *translate(int port, const char *pair, const char *text)
{
    json_t *answer = get(port, "POST /translate", process_format("%s&q=%s", pair, text));
    char *kept = process_format("%s", json_string_value(json_object_get(answer, "translatedText")));
    json_decref(answer);
    return kept;
}

static void check_targets(const json_t *languages, const char *code, const char *expected)
{
    size_t index;
    const json_t *language;
    json_array_foreach((json_t *)languages, index, language)
    {
        if (strcmp(json_string_value(json_object_get(language, "code")), code) == 0) {
            char *targets = json_dumps(json_object_get(language, "targets"), JSON_COMPACT);
            assert_string_equal(targets, expected);
            free(targets);
            return;
        }
    }
    fail_msg("no language %s", code);
}

/* Returns the lines that a model has translated. */
static int lines_of(int port, const char *model)
{
    http_request(&last, port, "GET /metrics", "", "");
    const char *line = strstr(last.body, process_format("\nclformer_lines_total{model=\"%s\"} ", model));
    assert_non_null(line);
    return atoi(strchr(line, '}') + 1);
}

/* The same model serves as three language pairs; the test checks which of them translates what. */
static void test_routes(void **state)
{
    (void)state;
    struct http_server server = http_start("-m " DEMO_MODEL " -m second=en-de:" DEMO_MODEL
                                           " -m third=de-nl:" DEMO_MODEL " --metrics");
    json_t *languages = get(server.port, "GET /languages", "");
    assert_int_equal(json_array_size(languages), 4);
    check_targets(languages, "fr", "[\"de\",\"en\",\"fr\",\"nl\"]");
    check_targets(languages, "en", "[\"de\",\"en\",\"nl\"]");
    check_targets(languages, "de", "[\"de\",\"nl\"]");
    check_targets(languages, "nl", "[\"nl\"]");
    json_decref(languages);
    const char *en = translate(server.port, "source=fr&target=en", "Je+suis+%c3%a9tudiant.");
    assert_string_equal(en, "I'm a student.");
    const char *de = translate(server.port, "source=en&target=de", "I%27m+a+student.");
    int before = lines_of(server.port, "second");
    assert_string_equal(translate(server.port, "source=fr&target=de", "Je+suis+%c3%a9tudiant."), de);
    assert_int_equal(lines_of(server.port, "second"), before + 1);
    assert_int_equal(lines_of(server.port, "third"), 0);
    const char *nl = translate(server.port, "source=de&target=nl", de);
    assert_string_equal(translate(server.port, "source=fr&target=nl", "Je+suis+%c3%a9tudiant."), nl);
    assert_int_equal(lines_of(server.port, "third"), 2);
    /* Alternatives are those of the last model. */
    json_t *answer = get(server.port, "POST /translate", "source=fr&target=de&alternatives=2&q=Merci.");
    assert_int_equal(json_array_size(json_object_get(answer, "alternatives")), 2);
    json_decref(answer);
    http_request(&last, server.port, "POST /translate", FORM_TYPE, "source=de&target=fr&q=x");
    assert_int_equal(last.status, 400);
    assert_string_equal(last.body, "{\"error\":\"French (fr) is not available as a target language from "
                                   "German (de)\"}");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
    assert_non_null(
        strstr(server.process.errors, "serving " DEMO_MODEL ", " DEMO_MODEL ", " DEMO_MODEL " at"));
}

/* Fewer hops come first, then the first model. */
static void test_choice(void **state)
{
    (void)state;
    struct http_server server = http_start("-m a=fr-en:" DEMO_MODEL " -m b=en-de:" DEMO_MODEL
                                           " -m c=fr-de:" DEMO_MODEL " -m d=fr-de:" DEMO_MODEL " --metrics");
    translate(server.port, "source=fr&target=de", "Merci.");
    assert_int_equal(lines_of(server.port, "a") + lines_of(server.port, "b"), 0);
    assert_int_equal(lines_of(server.port, "c"), 1);
    assert_int_equal(lines_of(server.port, "d"), 0);
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

/* A language with different codes in two models is listed once. */
static void test_multilingual(void **state)
{
    (void)state;
    struct http_server server =
        http_start(process_format("-m " DEMO_MODEL " -m many=%s/nllb-text -q", support_fixture("models")));
    json_t *languages = get(server.port, "GET /languages", "");
    int english = 0;
    size_t index;
    const json_t *language;
    json_array_foreach(languages, index, language)
    {
        english += strcmp(json_string_value(json_object_get(language, "name")), "English") == 0;
    }
    assert_int_equal(english, 1);
    json_decref(languages);
    assert_string_equal(translate(server.port, "source=fr&target=en", "Merci."), "Thanks.");
    translate(server.port, "source=fra_Latn&target=de", "Merci.");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

/* A package of Argos Translate names its languages. */
static void test_package(void **state)
{
    (void)state;
    struct http_server server =
        http_start(process_format("-m %s/argos/plain.argosmodel", support_fixture("formats")));
    http_request(&last, server.port, "GET /languages", "", "");
    assert_string_equal(last.body, "[{\"code\":\"en\",\"name\":\"English\",\"targets\":[\"en\",\"pt\"]},"
                                   "{\"code\":\"pt\",\"name\":\"Portuguese\",\"targets\":[\"pt\"]}]");
    translate(server.port, "source=en&target=pt", "a");
    assert_int_equal(http_stop(&server, SIGTERM), 0);
}

static void test_names(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "serve -m " DEMO_MODEL " -m en-de:" DEMO_MODEL "/");
    assert_refused(result, 2, "another model is called fr-en-small; add a name, -m NAME=" DEMO_MODEL "/");
    result = run_clformer(NULL, "serve -m a= --port 0");
    assert_refused(result, 2, "has no folder");
    result = run_clformer(NULL, "serve --port 0 -m a=/nowhere");
    assert_refused(result, 1, "/nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_routes, support_teardown),
        cmocka_unit_test_teardown(test_choice, support_teardown),
        cmocka_unit_test_teardown(test_multilingual, support_teardown),
        cmocka_unit_test_teardown(test_package, support_teardown),
        cmocka_unit_test_teardown(test_names, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
