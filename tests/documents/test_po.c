/* gettext PO: which messages are translated, and what is kept. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

#define HEADER "# c\nmsgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n\n"

static void test_messages(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"", "", ""},
        {HEADER, "", HEADER},
        {HEADER "msgid \"open\"\nmsgstr \"\"\n", "open", HEADER "msgid \"open\"\nmsgstr \"OPEN\"\n"},
        {"msgctxt \"menu\"\r\nmsgid \"open\"\r\nmsgstr \"\"\r\n", "open",
         "msgctxt \"menu\"\r\nmsgid \"open\"\r\nmsgstr \"OPEN\"\r\n"},
        {"msgid \"done\"\nmsgstr \"fait\"\n\nmsgid \"open\"\nmsgstr \"\"\n\"ouvrir\"\n", "",
         "msgid \"done\"\nmsgstr \"fait\"\n\nmsgid \"open\"\nmsgstr \"\"\n\"ouvrir\"\n"},
        {"#~ msgid \"old\"\n#~ msgstr \"\"\n#, fuzzy\n#| msgid \"x\"\nmsgid \"a\"\nmsgstr \"\"\n", "a",
         "#~ msgid \"old\"\n#~ msgstr \"\"\n#, fuzzy\n#| msgid \"x\"\nmsgid \"a\"\nmsgstr \"A\"\n"},
        {"msgid \"one file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n", "one file|files",
         "msgid \"one file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"ONE FILE\"\nmsgstr[1] \"%d FILES\"\n"},
        {"msgid \"\"\n\"The <b>\\\"first\\\"</b> line\\n\"\n\"and \\\\ %s.\\n\"\nmsgstr \"\"\n",
         "The \"first\" line and \\.",
         "msgid \"\"\n\"The <b>\\\"first\\\"</b> line\\n\"\n\"and \\\\ %s.\\n\"\nmsgstr \"THE "
         "<b>\\\"FIRST\\\"</b> LINE \\nAND \\\\ "
         "%s.\\n\"\n"},
        {"  msgid   \"open\"  \n  msgstr\t\"\" ", "open", "  msgid   \"open\"  \n  msgstr\t\"OPEN\" "},
        {"msgid \"one \\101\\x1b two\\0\"\nmsgstr \"\"\n", "one two",
         "msgid \"one \\101\\x1b two\\0\"\nmsgstr \"ONE \\101\\x1bTWO\\0\"\n"},
        {"msgid \"%s: {x}\"\nmsgstr \"\"\n", "", "msgid \"%s: {x}\"\nmsgstr \"\"\n"},
    };
    document_check_cases("a.po", cases, sizeof cases / sizeof *cases);
    struct clf_document *document = document_open("a.pot", "\nmsgid \"b\"\nmsgstr \"\"\n");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 2);
    assert_ok(clf_document_set(document, 0, "\"\\\t.", 4, NULL, 0));
    assert_string_equal(document_written(document), "\nmsgid \"b\"\nmsgstr \"\\\"\\\\\\t.\"\n");
    clf_document_free(document);
}

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *message;
    } cases[] = {
        {"open\n", "a.po: line 1: is not a keyword such as msgid or msgstr"},
        {"\n\"open\"\n", "line 2: is not a keyword"},
        {"msgid open\n", "line 1: a string in quotation marks is missing"},
        {"msgid \"open\n", "line 1: a string is not closed"},
        {"msgid \"open\\\"\n", "line 1: a string is not closed"},
        {"msgid \"open\" x\n", "line 1: a string is not closed, or text follows it"},
        {"msgid \"a\"\nmsgstr[x] \"\"\n", "line 2: is not msgstr[N]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_refused("a.po", cases[i].bytes, cases[i].message);
    }
}

/* A message with too many marks is kept and counted. */
static void test_many_marks(void **state)
{
    (void)state;
    char *bytes = support_array(4096, 1);
    strcpy(bytes, "msgid \"a\"\nmsgstr \"\"\nmsgid \"b");
    for (int i = 0; i < 100; i++) {
        strcat(bytes, " %s");
    }
    strcat(bytes, "\"\nmsgstr \"\"\n");
    struct clf_document *document = document_open("a.po", bytes);
    assert_string_equal(document_texts(document), "a");
    document_translate(document, document_shout);
    assert_non_null(strstr(document_written(document), "%s\"\nmsgstr \"\"\n"));
    assert_non_null(strstr(clf_document_warning(document, 0), "a.po: 1 message not translated"));
    clf_document_free(document);
}

static struct clf_document *open_all(const char *bytes)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.po";
    options.all = 1;
    return document_open_with(&options, bytes, strlen(bytes));
}

/* With `all`, a translation replaces all strings of the old one, but no comment between them. Otherwise it is
 * written into the first one. */
static void test_several_strings(void **state)
{
    (void)state;
    document_check("a.po", "msgid \"a\"\nmsgstr \"\"\n# b\n\"\"\n", document_shout,
                   "msgid \"a\"\nmsgstr \"A\"\n# b\n\"\"\n");
    struct clf_document *document = open_all("msgid \"a\"\r\nmsgstr \"\"\r\n\"b\"\r\n\"c\"\r\n");
    document_translate(document, document_shout);
    assert_string_equal(document_written(document), "msgid \"a\"\r\nmsgstr \"A\"\r\n");
    clf_document_free(document);
    static const char commented[] = "msgid \"a\"\nmsgstr \"b\"\n# c\n\"d\"\n";
    document = open_all(commented);
    assert_int_equal(clf_document_count(document), 0);
    assert_string_equal(document_written(document), commented);
    assert_non_null(strstr(clf_document_warning(document, 0), "1 message not translated"));
    clf_document_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_messages, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_many_marks, support_teardown),
        cmocka_unit_test_teardown(test_several_strings, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
