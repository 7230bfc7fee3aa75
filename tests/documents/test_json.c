/* JSON of strings: values, escapes, placeholders and tags. */
#include "support/support.h"

#include <string.h>

#include <jansson.h>

#include "support/documents.h"
#include "translate/documents/inlines.h"

static void test_values(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"\"one\"", "one", "\"ONE\""},
        {"\xef\xbb\xbf{ \"key\" :\t\"one\" , \"b\":[\"two\",\n{\"c\":\"three\"}, \"four\"], \"d\": null}\r\n",
         "one|two|three|four",
         "\xef\xbb\xbf{ \"key\" :\t\"ONE\" , \"b\":[\"TWO\",\n{\"c\":\"THREE\"}, \"FOUR\"], \"d\": "
         "null}\r\n"},
        {"[1, -2.5e3, true, false, null, \"\", \" \", \"12\", \"https://a.b/c\"]", "",
         "[1, -2.5e3, true, false, null, \"\", \" \", \"12\", \"https://a.b/c\"]"},
        {"[\" one\\ntwo \\r\\n\\n three\\\\ \\\"four\\\" \\t\\u0041\\u00e9\\ud83d\\ude00\"]",
         "one|two|three\\ \"four\" A\xc3\xa9\xf0\x9f\x98\x80",
         "[\" ONE\\nTWO \\r\\n\\n THREE\\\\ \\\"FOUR\\\" A\xc3\xa9\xf0\x9f\x98\x80\"]"},
        {"[\"see https://a.b\"]", "see https://a.b", "[\"SEE HTTPS://A.B\"]"},
        {"{}", "", "{}"},
    };
    document_check_cases("a.json", cases, sizeof cases / sizeof *cases);
}

static void test_placeholders(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"[\"Hello {name}, you have %d new messages.\"]", "Hello, you have new messages.",
         "[\"HELLO {name}, YOU HAVE %d NEW MESSAGES.\"]"},
        {"[\"{name} said: %(text)s\"]", "said:", "[\"{name} SAID: %(text)s\"]"},
        {"[\"${a} and {{b}} and %1$s!\"]", "and and!", "[\"${a} AND {{b}} AND %1$s!\"]"},
        {"[\"a <b>{n}</b> c\"]", "a c", "[\"A <b>{n}</b> C\"]"},
        {"[\"<b>{n}</b> said\"]", "said", "[\"<b>{n}</b> SAID\"]"},
        {"[\"A <a href=\\\"x\\\">link</a> and<br/>more.\"]", "A link and more.",
         "[\"A <a href=\\\"x\\\">LINK</a> AND <br/>MORE.\"]"},
        {"[\"one <b>two <i>three</b> four</i> five\"]", "one two three four five",
         "[\"ONE <b>TWO <i>THREE</b> FOUR</i> FIVE\"]"},
        {"[\"100% of 50%, {a b c!} < 3 > %d\"]", "100% of 50%, {a b c!} < 3 >",
         "[\"100% OF 50%, {A B C!} < 3 > %d\"]"},
        {"[\"{a} {b} %s\"]", "", "[\"{a} {b} %s\"]"},
    };
    document_check_cases("a.json", cases, sizeof cases / sizeof *cases);
    /* A translation with other characters stays one string. */
    document_check("a.json", "[\"a\"]", document_marked,
                   "[\"\xe2\x80\xb9"
                   "a\xe2\x80\xba\"]");
    struct clf_document *document = document_open("a.json", "{\"a\": \"b\"}");
    assert_ok(clf_document_set(document, 0, "\"\\\x01", 3, NULL, 0));
    assert_string_equal(document_written(document), "{\"a\": \"\\\"\\\\\\u0001\"}");
    clf_document_free(document);
}

static void test_sizes_of_placeholders(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        {"%s", 2},       {"%d.", 2},   {"%-5.2f x", 6}, {"%ld", 3},  {"%1$s", 4}, {"%@", 2},
        {"%(name)s", 8}, {"%", 0},     {"%%", 0},       {"%so", 0},  {"% d", 0},  {"{0}", 3},
        {"{a_b.c}", 7},  {"{ x }", 5}, {"{{ x }}", 7},  {"${x}", 4}, {"{", 0},    {"{}", 2},
        {"{a", 0},       {"{a!}", 0},  {"{{a}", 0},     {"$x", 0},   {"text", 0}, {"%(a b)s", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (clf__placeholder_size(cases[i].text, strlen(cases[i].text)) != cases[i].size) {
            fail_msg("%s", cases[i].text);
        }
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{", "{\"a\": \"b\",\n}", "[\"a\"", "[\"\\u0000\"]", "[\"\\ud800\"]", "a", "[\"a\nb\"]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct clf_document *document;
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = "a.json";
        assert_fails(clf_document_open(&document, texts[i], strlen(texts[i]), &options), CLF_FORMAT,
                     "a.json: line ");
    }
}

/* Hostile strings are read in a time that does not grow faster than they do, and stay JSON. */
static void test_hostile(void **state)
{
    (void)state;
    const size_t most = support_small() ? 50000 : 2000000;
    static const char *const patterns[] = {"<b>",   "</b>", "{a} ", "%(",      "{",       "<a ",
                                           "a <b>", "\\n",  "${",   "\\u00e9", "<b>a</b>"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t size = strlen(patterns[i]), used = 3;
        char *bytes = support_array(most + 100, 1);
        strcpy(bytes, "[\"a");
        for (; used + size < most; used += size) {
            memcpy(bytes + used, patterns[i], size);
        }
        strcpy(bytes + used, "\"]");
        struct clf_document *document = document_open("a.json", bytes);
        assert_ok(clf_document_set(document, 0, "Z", 1, NULL, 0));
        const char *written = document_written(document);
        json_t *root = json_loads(written, 0, NULL);
        assert_non_null(root);
        assert_non_null(strchr(written, 'Z'));
        json_decref(root);
        clf_document_free(document);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values, support_teardown),
        cmocka_unit_test_teardown(test_placeholders, support_teardown),
        cmocka_unit_test_teardown(test_sizes_of_placeholders, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
