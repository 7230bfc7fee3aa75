/* Markdown: which text is translated, how it is escaped, and what is kept. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

#ifdef CLF_HAS_CMARK

static void test_blocks(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"", "", ""},
        {"one\n", "one", "ONE\n"},
        {"\xef\xbb\xbf# one #\n\ntwo\nthree\n\n\nfour\n---\n", "one|two three|four",
         "\xef\xbb\xbf# ONE #\n\nTWO THREE\n\n\nFOUR\n---\n"},
        {"one\r\ntwo\r\n\r\n===\r\n", "one two", "ONE TWO\r\n\r\n===\r\n"},
        {"- one\n  two\n  1. three\n\n     four\n* [ ] five\n* [x] six\n", "one two|three|four|five|six",
         "- ONE TWO\n  1. THREE\n\n     FOUR\n* [ ] FIVE\n* [x] SIX\n"},
        {"> one\n> two\n> > three\nfour\n\n> - five\n>   six\n", "one two|three four|five six",
         "> ONE TWO\n> > THREE FOUR\n\n> - FIVE SIX\n"},
        {"| one | t\\|wo |\n|---|:-:|\n| three | `a\\|b` four\n|  | five | six |\n",
         "one|t|wo|three|four|five",
         "| ONE | T\\|WO |\n|---|:-:|\n| THREE | `a\\|b` FOUR\n|  | FIVE | six |\n"},
        {"> one | two\n> --- | ---\n> three | four\n\n- | a |\n  |---|\n  | b |\n", "one|two|three|four|a|b",
         "> ONE | TWO\n> --- | ---\n> THREE | FOUR\n\n- | A |\n  |---|\n  | B |\n"},
        {"    code\n\n```c\ncode\n```\n\n<div>\nhtml\n</div>\n\none\n\n[a]: /b \"title\"\n", "one",
         "    code\n\n```c\ncode\n```\n\n<div>\nhtml\n</div>\n\nONE\n\n[a]: /b \"title\"\n"},
        {"---\ntitle: front matter\n---\none\n", "one", "---\ntitle: front matter\n---\nONE\n"},
        {"+++\ntitle = \"a\"\n+++\none\n", "one", "+++\ntitle = \"a\"\n+++\nONE\n"},
        {"---\none\n", "one", "---\nONE\n"},
        {"[a]: /b\n[c]: <d e>\n  'title\nmore'\none [a]\n", "one a",
         "[a]: /b\n[c]: <d e>\n  'title\nmore'\nONE [A][a]\n"},
        {"one[^1] two\n\n[^1]: three\n    four\n\nfive\n", "one two|three four|five",
         "ONE[^1] TWO\n\n[^1]: THREE FOUR\n\nFIVE\n"},
        {"one\ntwo\n| a | b |\n|---|---|\n| c | d |\n", "one two|a|b|c|d",
         "ONE TWO\n| A | B |\n|---|---|\n| C | D |\n"},
        {"12\n\n---\n\n![](a.png)\n", "", "12\n\n---\n\n![](a.png)\n"},
    };
    document_check_cases("a.md", cases, sizeof cases / sizeof *cases);
    struct clf_document *document = document_open("a.markdown", "---\na: b\n---\n\none\ntwo\n");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 5);
    clf_document_free(document);
}

static void test_inlines(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"one *two* __three__ ***four*** ~~five~~ ~six~\n", "one two three four five six",
         "ONE *TWO* __THREE__ ***FOUR*** ~~FIVE~~ ~SIX~\n"},
        {"a `code` b ``co`de`` c\n", "a b c", "A `code` B ``co`de`` C\n"},
        {"a [b *c*](/d \"e\") f [g](<h i>) ![j](k \"l\")\n", "a b c f g j",
         "A [B *C*](/d \"e\") F [G](<h i>) ![J](k \"l\")\n"},
        {"[![alt text](a.png)](b)\n", "alt text", "[![ALT TEXT](a.png)](b)\n"},
        {"see [one], [two][] and [three][two]\n\n[one]: a\n[two]: b\n", "see one, two and three",
         "SEE [ONE][one], [TWO][two] AND [THREE][two]\n\n[one]: a\n[two]: b\n"},
        {"a <https://b.c/d> e https://f.g/h_i_j. k www.l.m\n", "a e. k",
         "A <https://b.c/d> E https://f.g/h_i_j. K www.l.m\n"},
        {"a <b>c</b> d<br>e <!-- f --> g <span\nclass=\"h\">i</span>\n", "a c d e g i",
         "A <b>C</b> D <br>E <!-- f --> G <span\nclass=\"h\">I</span>\n"},
        {"one  \ntwo\\\nthree\n", "one two three", "ONE  \nTWO\\\nTHREE\n"},
        {"- one\\\n two\\\n three\n", "one two three", "- ONE\\\n TWO\\\n THREE\n"},
        {"see [`code`] and [*one*]\n\n[`code`]: a\n[*one*]: b\n", "see and one",
         "SEE [`code`] AND [*ONE*][*one*]\n\n[`code`]: a\n[*one*]: b\n"},
        {"> one  \n> two `a\n> b` three\n", "one two three", "> ONE  \n> TWO `a\n> b` THREE\n"},
        {"hello {name}, {{ site.url }}\n", "hello,", "HELLO {name}, {{ site.url }}\n"},
        {"2 \\* 3 &amp; 4 &lt; 5 &copy; &#65; \\[x\\] a_b C:\\d \\`\n",
         "2 * 3 & 4 < 5 \xc2\xa9 A [x] a_b C:\\d `", "2 * 3 & 4 < 5 \xc2\xa9 A \\[X\\] A_B C:\\D \\`\n"},
        {"a\\&amp;b &nosuch; \\!\n", "a&amp;b &nosuch; !", "A\\&AMP;B \\&NOSUCH; !\n"},
        {"one *two three* four\n", "one two three four", "ONE *TWO THREE* FOUR\n"},
        {"**one**two *a\n", "onetwo *a", "**ONETWO** \\*A\n"},
    };
    document_check_cases("a.md", cases, sizeof cases / sizeof *cases);
}

/* Text that would be markup is escaped. */
static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *translation, *expected;
    } cases[] = {
        {"a\n", "# b", "\\# b\n"},
        {"a\n", "- b", "\\- b\n"},
        {"a\n", "-5 b", "-5 b\n"},
        {"a\n", "+ b", "\\+ b\n"},
        {"a\n", "12. b", "12\\. b\n"},
        {"a\n", "3) b", "3\\) b\n"},
        {"a\n", "3.5 b", "3.5 b\n"},
        {"a\n", "> b", "\\> b\n"},
        {"a\n", "---", "\\---\n"},
        {"a\n", "===", "\\===\n"},
        {"a\n", "* b", "\\* b\n"},
        {"a\n", "*b* _c_ `d` [e](f) <g> ~h~ &amp; \\* ~~~",
         "\\*b\\* \\_c\\_ \\`d\\` \\[e\\](f) \\<g> \\~h\\~ "
         "\\&amp; \\\\\\* \\~\\~\\~\n"},
        {"a\n", "b_c 3 * 4 < 5 & C:\\d AT&T", "b_c 3 * 4 < 5 & C:\\d AT&T\n"},
        {"a\n", "```", "\\`\\`\\`\n"},
        {"a\n", "[b]: c", "\\[b\\]: c\n"},
        {"# a\n", "# b #", "# \\# b \\#\n"},
        {"# a\n", "1. b", "# 1. b\n"},
        {"# a\n", "C# b", "# C# b\n"},
        {"| a |\n|---|\n", "b | c", "| b \\| c |\n|---|\n"},
        {"a *b*\n", "c", "*c*\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_only("a.md", cases[i].bytes, cases[i].translation, cases[i].expected);
    }
    document_check("a.md", "Hello!\\\n[a](b)\n", document_shout, "HELLO!\\\n[A](b)\n");
    document_check("a.md", "\\![a](b)\n", document_shout, "\\![A](b)\n");
}

/* Emphasis between letters of Chinese needs spaces. */
static void test_spaces(void **state)
{
    (void)state;
    static const char translation[] = "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89";
    struct clf_document *document = document_open("a.md", "one _two_ three\n");
    const struct clf_alignment_link links[] = {{0, 3, 0, 3}, {4, 3, 3, 3}, {8, 5, 6, 3}};
    assert_ok(clf_document_set(document, 0, translation, strlen(translation), links, 3));
    const char *written = document_written(document);
    if (strstr(written, " _") == NULL || strstr(written, "_ ") == NULL) {
        fail_msg("%s", written);
    }
    assert_null(clf_document_warning(document, 0));
    clf_document_free(document);
}

/* Sets all translations: `text`, or the same text if it is NULL. */
static void set_all(struct clf_document *document, const char *text)
{
    for (int i = 0; i < clf_document_count(document); i++) {
        const struct clf_document_segment *segment = clf_document_segment_at(document, i);
        const char *set = text != NULL ? text : segment->text;
        assert_ok(clf_document_set(document, i, set, strlen(set), NULL, 0));
    }
}

/* Hostile text is read in a time that does not grow faster than the text, and its structure is kept. */
static void test_hostile(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "*",    "_a ",      "**a ",    "[",        "[a](",   "![a](b ",  "`",    "``a`",        "<a ",
        "<!--", "&amp;",    "\\",      "> ",       "- ",     "* a\n",    "a\n",  "a  \n",       "|a",
        "|a\n", "[a]: b\n", "[a]",     "~a~",      "{a} ",   "https://", "[^a]", "[a]: b \"\n", "# a\n",
        "1. ",  "a | b\n",  "***a** ", "<b>a</b>", "[a][b]", "\t",       "![",   "_*"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t size = strlen(patterns[i]), used = 0; /* more brackets are refused */
        const size_t most = support_small() ? 20000 : strchr(patterns[i], '[') != NULL ? 40000 : 200000;
        char *bytes = support_array(most + 100, 1);
        for (; used + size < most; used += size) {
            memcpy(bytes + used, patterns[i], size);
        }
        strcpy(bytes + used, "\n\nlast\n");
        struct clf_document *document = document_open("a.md", bytes);
        set_all(document, NULL);
        assert_string_equal(document_written(document), bytes);
        set_all(document, "Z");
        struct clf_document *again = document_open("a.md", document_written(document));
        clf_document_free(again);
        clf_document_free(document);
        support_free_all();
    }
}

/* Text for which cmark-gfm needs quadratic time is refused. */
static void test_slow(void **state)
{
    (void)state;
    enum { COUNT = 30000 };
    static const char *const patterns[] = {"a\n-|-\n", "> |\n> |-\n", "![[]()"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct clf_document *document;
        char *bytes = support_array(COUNT * 16, 1);
        size_t size = strlen(patterns[i]);
        for (size_t k = 0; k < COUNT; k++) {
            memcpy(bytes + k * size, patterns[i], size);
        }
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = "a.md";
        assert_fails(clf_document_open(&document, bytes, strlen(bytes), &options), CLF_UNSUPPORTED,
                     "a paragraph has too many links or rows of tables; divide it");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_blocks, support_teardown),
        cmocka_unit_test_teardown(test_inlines, support_teardown),
        cmocka_unit_test_teardown(test_escapes, support_teardown),
        cmocka_unit_test_teardown(test_spaces, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
        cmocka_unit_test_teardown(test_slow, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] built without cmark-gfm\n");
    return 0;
}

#endif
