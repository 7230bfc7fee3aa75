/* ASS and SSA subtitles: the text of dialogue, override tags, and what is kept. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

#define HEAD                                                                                                 \
    "[Script Info]\r\nTitle: a\r\n\r\n[V4+ Styles]\r\nFormat: Name, Fontname\r\nStyle: "                     \
    "Default,Arial\r\n\r\n"                                                                                  \
    "[Events]\r\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\r\n"
#define LINE(n) "Dialogue: 0,0:00:0" #n ".00,0:00:0" #n ".90,Default,,0,0,0,,"

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *texts, *expected;
    } cases[] = {
        {"", "", ""},
        {HEAD, "", HEAD},
        {HEAD LINE(1) "Hello, you.\r\n", "Hello, you.", HEAD LINE(1) "HELLO, YOU.\r\n"},
        {HEAD LINE(1) "I think that\\Nwe\r\n" LINE(2) "should go. Or not.\r\n",
         "I think that we should go.|Or not.",
         HEAD LINE(1) "I THINK THAT WE\r\n" LINE(2) "SHOULD GO. OR NOT.\r\n"},
        {HEAD LINE(1) "{\\an8}Say {\\i1}yes{\\i0} now\\hor {comment}never.\r\n",
         "Say yes now\xc2\xa0or never.",
         HEAD LINE(1) "{\\an8}SAY {\\i1}YES{\\i0} NOW\\hOR {comment}NEVER.\r\n"},
        {HEAD LINE(1) "- Yes.\\N- {\\b1}No.{\\b0}\r\n", "Yes.|No.",
         HEAD LINE(1) "- YES.\\N- {\\b1}NO.{\\b0}\r\n"},
        {HEAD LINE(1) "{\\p1}m 0 0 l 100 0{\\p0}Text\r\n" LINE(2) "{\\pos(1,2)\\p1}m 0 0 l 1 1\r\n", "Text",
         HEAD LINE(1) "{\\p1}m 0 0 l 100 0{\\p0}TEXT\r\n" LINE(2) "{\\pos(1,2)\\p1}m 0 0 l 1 1\r\n"},
        {HEAD LINE(1) "{\\k20}ka{\\k30}ra\r\nComment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,note\r\n", "",
         HEAD LINE(1) "{\\k20}ka{\\k30}ra\r\nComment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,note\r\n"},
        {HEAD LINE(1) "We see\r\nDialogue: 0,0:00:02.00,0:00:03.00,Sign,,0,0,0,,a sign\r\n", "We see|a sign",
         HEAD LINE(1) "WE SEE\r\nDialogue: 0,0:00:02.00,0:00:03.00,Sign,,0,0,0,,A SIGN\r\n"},
        {HEAD LINE(1) "Hello\\nyou.\r\n\r\n[Fonts]\r\nDialogue: no event\r\n", "Hello you.",
         HEAD LINE(1) "HELLO YOU.\r\n\r\n[Fonts]\r\nDialogue: no event\r\n"},
        {"[Script Info]\n[Events]\nFormat: Marked, Start, End, Text\nDialogue: "
         "Marked=0,0:00:01.00,0:00:02.00,a, b\n",
         "a, b",
         "[Script Info]\n[Events]\nFormat: Marked, Start, End, Text\nDialogue: "
         "Marked=0,0:00:01.00,0:00:02.00,A, B\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_texts("a.ass", cases[i].bytes, cases[i].texts);
        document_check("a.ssa", cases[i].bytes, document_shout, cases[i].expected);
    }
    struct clf_document *document =
        document_open("film", "; comment\n" HEAD LINE(1) "One\r\n" LINE(4) "two.\r\n");
    assert_string_equal(clf_document_format_of(document)->name, "ass");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 11);
    clf_document_free(document);
}

static void test_translations(void **state)
{
    (void)state;
    static const char bytes[] = HEAD LINE(1) "One.\r\n";
    struct clf_document *document = document_open("a.ass", bytes);
    static const char text[] = "{a} \\N C:\\x The quick brown fox jumps over the lazy dog";
    assert_ok(clf_document_set(document, 0, text, strlen(text), NULL, 0));
    assert_string_equal(document_written(document),
                        HEAD LINE(1) "(a) \\\xe2\x81\xa0N C:\\x The quick brown\\Nfox jumps "
                                     "over the lazy dog\r\n");
    assert_string_equal(
        clf_document_warning(document, 0),
        "a.ass: 1 subtitle to be read faster than 21 characters per second; the first is at line 10");
    clf_document_free(document);
}

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *message;
    } cases[] = {
        {"1\n", "a.ass: line 1: an ASS file begins with \"[Script Info]\""},
        {"[Script Info]\n[Events]\nFormat: Start, Text\n",
         "line 3: the format of the events needs Start, End"},
        {"[Script Info]\n[Events]\nFormat: Start, End, Text, Name\n",
         "line 3: the format of the events needs"},
        {HEAD "Dialogue: 0,0:00:01.00\r\n", "line 10: has 2 fields, but the format has 10; correct it"},
        {HEAD "Dialogue: 0,now,0:00:02.00,Default,,0,0,0,,a\r\n", "line 10: \"now\" is not a time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        document_check_refused("a.ass", cases[i].bytes, cases[i].message);
    }
}

/* Hostile dialogue is read in a time that does not grow faster than the text. */
static void test_hostile(void **state)
{
    (void)state;
    const size_t most = support_small() ? 50000 : 500000;
    static const char *const patterns[] = {"{",       "{\\i1}", "{\\i0}", "{\\p1}",  "\\N", "\\",
                                           "{\\k1}a", "{}a",    "- a\\N", "{\\an8}", "a. "};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t size = strlen(patterns[i]);
        char *bytes = support_array(most + 1000, 1);
        strcpy(bytes, HEAD LINE(1) "a ");
        size_t used = strlen(bytes);
        for (; used + size < most; used += size) {
            memcpy(bytes + used, patterns[i], size);
        }
        strcpy(bytes + used, "\r\n" LINE(2) "last.\r\n");
        struct clf_document *document = document_open("a.ass", bytes);
        for (int k = 0; k < clf_document_count(document); k++) {
            const struct clf_document_segment *segment = clf_document_segment_at(document, k);
            assert_ok(clf_document_set(document, k, segment->text, segment->text_size, NULL, 0));
        }
        assert_string_equal(document_written(document), bytes);
        for (int k = 0; k < clf_document_count(document); k++) {
            assert_ok(clf_document_set(document, k, "Z", 1, NULL, 0));
        }
        assert_non_null(strchr(document_written(document), 'Z'));
        clf_document_free(document);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_translations, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
