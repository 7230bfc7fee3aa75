/* YAML of strings: which scalars are translated, styles, and what is kept. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"
#include "translate/documents/yaml/yaml.h"

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *texts, *expected;
    } cases[] = {
        {"", "", ""},
        {"one\n", "one", "ONE\n"},
        {"\xef\xbb\xbf# comment\nkey: one # comment\nb:\n  - two\n  -   'three'\r\n  - \"four\"\n",
         "one|two|three|four",
         "\xef\xbb\xbf# comment\nkey: ONE # comment\nb:\n  - TWO\n  -   'THREE'\r\n  - \"FOUR\"\n"},
        {"a: {b: one, \"c\": [two, three], ? d : four}\n? five\n: six\n", "one|two|three|four|six",
         "a: {b: ONE, \"c\": [TWO, THREE], ? d : FOUR}\n? five\n: SIX\n"},
        {"? [a, b]\n: c\n", "c", "? [a, b]\n: C\n"},
        {"a: null\nb: True\nc: 0x1f\nd: 2001-12-14t21:59:43.10-05:00\ne: ~\nf:\ng: .inf\nh: 1e5\ni: off\nj: "
         "https://a.b/c\n",
         "", NULL},
        {"a: 'true'\nb: \"no\"\nc: !!str on\nd: !!int '7a'\ne: !ref Name\nf: !!binary aGVsbG8=\n",
         "true|no|on",
         "a: 'TRUE'\nb: \"NO\"\nc: !!str 'ON'\nd: !!int '7a'\ne: !ref Name\nf: !!binary aGVsbG8=\n"},
        {"a: &x one\nb: *x\nc: &y # comment\n  two\nd: &z !!str\n  'three'\n<<: *x\n", "one|two|three",
         "a: &x ONE\nb: *x\nc: &y # comment\n  TWO\nd: &z !!str\n  'THREE'\n<<: *x\n"},
        {"%YAML 1.1\n---\none\n...\n---\ntwo\n", "one|two", "%YAML 1.1\n---\nONE\n...\n---\nTWO\n"},
        {"a: one\n  two\n  three\nb: four\n\n  five\n", "one two three",
         "a: ONE TWO THREE\nb: four\n\n  five\n"},
        {"\xc3\xa9: \xc3\xa9t\xc3\xa9\nb: c\n", "\xc3\xa9t\xc3\xa9|c", "\xc3\xa9: \xc3\xa9T\xc3\xa9\nb: C\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_texts("a.yaml", cases[i].bytes, cases[i].texts);
        document_check("a.yml", cases[i].bytes, document_shout,
                       cases[i].expected != NULL ? cases[i].expected : cases[i].bytes);
    }
    struct clf_document *document = document_open("a.yaml", "# a\nb: c\n");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 2);
    clf_document_free(document);
}

static void test_styles(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"a: 'it''s one\n  two\n\n  three'\n", "it's one two|three", "a: 'IT''S ONE TWO\n\n  THREE'\n"},
        {"a: \"one\\ttwo \\\"three\\\"\\nfour \\\n   five \\u00e9\\xe9\\U0001F600 \\\\\\/\"\n",
         "one two \"three\"|four five \xc3\xa9\xc3\xa9\xf0\x9f\x98\x80 \\/",
         "a: \"ONE TWO \\\"THREE\\\"\\nFOUR FIVE \xc3\xa9\xc3\xa9\xf0\x9f\x98\x80 \\\\/\"\n"},
        {"a: \"one \\0 two \\e three\"\n", "one two three", "a: \"ONE \\0 TWO \\e THREE\"\n"},
        {"a: | # comment\n  one\n   two\n\n  three\nb: |-\n  four\n", "one|two|three|four",
         "a: | # comment\n  ONE\n   TWO\n\n  THREE\nb: |-\n  FOUR\n"},
        {"a: >\n  one\n  two\n\n  three\n    four\n  five\nb: >+2\n    six\n\n# comment\n",
         "one two|three|four|five|six",
         "a: >\n  ONE TWO\n\n  THREE\n    FOUR\n  FIVE\nb: >+2\n    SIX\n\n# comment\n"},
        {"- |\n one: \"two\" 'three' # four\n- >-\n\n\n five\n", "one: \"two\" 'three' # four|five",
         "- |\n ONE: \"TWO\" 'THREE' # FOUR\n- >-\n\n\n FIVE\n"},
        {"a: Hello %{name}, {b} %s <b>c</b>\n", "Hello, c", "a: HELLO %{name}, {b} %s <b>C</b>\n"},
        {"a: 'x <a href=''b''>c</a> d'\n", "x c d", "a: 'X <a href=''b''>C</a> D'\n"},
    };
    document_check_cases("a.yaml", cases, sizeof cases / sizeof *cases);
}

/* Translations that are not valid in the style of the source are quoted or escaped. */
static void test_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *translation, *expected;
    } cases[] = {
        {"a: one\n", "it's two", "a: it's two\n"},
        {"a: one\n", "two: it's", "a: 'two: it''s'\n"},
        {"a: one\n", "two #3", "a: 'two #3'\n"},
        {"a: one\n", "two#3", "a: two#3\n"},
        {"a: one\n", "no", "a: 'no'\n"},
        {"a: one\n", "12", "a: '12'\n"},
        {"a: one\n", "", "a: ''\n"},
        {"a: one\n", "@two", "a: '@two'\n"},
        {"a: one\n", "- two", "a: '- two'\n"},
        {"a: one\n", "two:", "a: 'two:'\n"},
        {"a: one, two\n", "three, [four]", "a: three, [four]\n"},
        {"a: [one]\n", "two, three", "a: ['two, three']\n"},
        {"a: one <b title='x'>two</b>\n", "x: three", "a: 'x: three<b title=''x''></b>'\n"},
        {"a: 'one'\n", "it's \"two\" \\", "a: 'it''s \"two\" \\'\n"},
        {"a: \"one\"\n", "it's \"two\" \\ \x01\x7f", "a: \"it's \\\"two\\\" \\\\ \\u0001\\u007f\"\n"},
        {"a: one\n", "two \xe2\x80\xa8three\x01 four", "a: two  three  four\n"},
        {"a: |\n  one\n", "two: 'x' # y", "a: |\n  two: 'x' # y\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_only("a.yaml", cases[i].bytes, cases[i].translation, cases[i].expected);
    }
}

static void test_types(void **state)
{
    (void)state;
    static const char *const strings[] = {"a",  "null and void", "1 a", "face", "None", "v1.2", "-a", "e",
                                          "O'1"};
    static const char *const others[] = {"",        "~",     "NULL", "yes",   "Off",      "1",
                                         "-1.5e+3", "0o17",  "0xFF", "1_000", "12:30:45", "2001-01-01",
                                         ".NaN",    "-.inf", "<<",   "1.2.3"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        assert_true(clf__yaml_is_string(strings[i], strlen(strings[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(clf__yaml_is_string(others[i], strlen(others[i])));
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *message;
    } cases[] = {
        {"a: [b\n", "a.yaml: line 2: is not YAML: did not find expected ',' or ']'"},
        {"a: b\n c: d\n", "a.yaml: line 2: is not YAML: "},
        {"a: 'b\n", "a.yaml: line 2: is not YAML: found unexpected end of stream"},
        {"a: \"\\q\"\n", "a.yaml: line 1: is not YAML: found unknown escape character"},
        {"\ta: b\n", "a.yaml: line 1: is not YAML: "},
        {"a: b\x01\n", "is not YAML: control characters are not allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_refused("a.yaml", cases[i].bytes, cases[i].message);
    }
}

/* Hostile text is read in a time that does not grow faster than the text, or refused. */
static void test_hostile(void **state)
{
    (void)state;
    const size_t most = support_small() ? 50000 : 1000000;
    static const char *const patterns[] = {
        "a: b\n",  "- ", "[",     "{a: ",    "- a\n",        "? ",          "&a ",
        "a ",      "\n", "# a\n", "- <b>\n", "%TAG !a! b\n", "- \"\\n\"\n", "- 'a\n\n b'\n",
        "a: {b}\n"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t size = strlen(patterns[i]), used = 0;
        char *bytes = support_array(most + 100, 1);
        struct clf_document *document;
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = "a.yaml";
        for (; used + size < most; used += size) {
            memcpy(bytes + used, patterns[i], size);
        }
        clf_status status = clf_document_open(&document, bytes, used, &options);
        if (*patterns[i] == '[' || *patterns[i] == '{') {
            assert_int_equal(status, CLF_UNSUPPORTED);
            assert_non_null(strstr(clf_last_error(), "a.yaml: line 1: has more than 256 nested values"));
        }
        if (status == CLF_OK) {
            for (int k = 0; k < clf_document_count(document); k++) {
                const struct clf_document_segment *segment = clf_document_segment_at(document, k);
                assert_ok(clf_document_set(document, k, segment->text, segment->text_size, NULL, 0));
            }
            assert_string_equal(document_written(document), bytes);
        }
        clf_document_free(document);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values, support_teardown),
        cmocka_unit_test_teardown(test_styles, support_teardown),
        cmocka_unit_test_teardown(test_quotes, support_teardown),
        cmocka_unit_test_teardown(test_types, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
