/* XLIFF, TMX and translation memories. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "support/documents.h"

#ifdef CLF_HAS_LIBXML2

#define XLIFF1(body)                                                                                         \
    "<?xml version=\"1.0\"?>\n<xliff version=\"1.2\"><file source-language=\"en\"><body>\n" body             \
    "</body></file></xliff>\n"
#define XLIFF2(body) "<xliff version=\"2.0\" srcLang=\"en\"><file id=\"f\">\n" body "</file></xliff>\n"
#define STATE        "state=\"needs-review-translation\" state-qualifier=\"mt-suggestion\""

static struct clf_document *open_with(const char *name, const char *bytes, int all, const char *target)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    options.all = all;
    options.target_language = target;
    assert_ok(clf_document_open(&document, bytes, strlen(bytes), &options));
    return document;
}

/* Checks the texts of a document and its translation; an unchanged translation gives the same bytes. */
static void check(const char *name, const char *bytes, int all, const char *target, const char *texts,
                  const char *expected)
{
    struct clf_document *document = open_with(name, bytes, all, target);
    document_check_open(document, bytes, texts, expected);
    const char *written = document_written(document);
    struct clf_document *again = open_with(name, written, 0, target);
    if (*texts != '\0') {
        assert_int_equal(clf_document_count(again), 0);
    }
    clf_document_free(again);
    clf_document_free(document);
}

static void test_xliff1(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int all;
        const char *texts, *expected;
    } cases[] = {
        {XLIFF1("  <trans-unit id=\"1\">\n    <source>One &amp; two</source>\n  </trans-unit>\n"), 0,
         "One & two",
         XLIFF1("  <trans-unit id=\"1\">\n    <source>One &amp; two</source>\n    <target " STATE
                ">ONE &amp; TWO</target>\n  </trans-unit>\n")},
        {XLIFF1("<trans-unit approved=\"yes\"><source> a <g id=\"1\">b</g><x id=\"2\"/> c</source><target "
                "xml:lang=\"fr\" "
                "state=\"new\"/></trans-unit>"),
         0, "a b c",
         XLIFF1("<trans-unit approved=\"no\"><source> a <g id=\"1\">b</g><x id=\"2\"/> c</source><target "
                "xml:lang=\"fr\" " STATE "> A <g id=\"1\">B</g><x id=\"2\"/> C</target></trans-unit>")},
        {XLIFF1("<trans-unit><source>a</source><target>b</target></trans-unit>"), 0, "",
         XLIFF1("<trans-unit><source>a</source><target>b</target></trans-unit>")},
        {XLIFF1("<trans-unit><source>a</source><target>b</target></trans-unit>"), 1, "a",
         XLIFF1("<trans-unit><source>a</source><target " STATE ">A</target></trans-unit>")},
        {XLIFF1("<trans-unit><source>a</source><target state=\"needs-translation\">a</target></trans-unit>"),
         0, "a", XLIFF1("<trans-unit><source>a</source><target " STATE ">A</target></trans-unit>")},
        {XLIFF1("<trans-unit translate=\"no\"><source>a</source></trans-unit><group "
                "translate=\"no\"><trans-unit><source>b"
                "</source></trans-unit></group>"),
         0, "",
         XLIFF1("<trans-unit translate=\"no\"><source>a</source></trans-unit><group "
                "translate=\"no\"><trans-unit><source>b"
                "</source></trans-unit></group>")},
        {XLIFF1("<trans-unit><source>a</source><seg-source><mrk "
                "mtype=\"seg\">a</mrk></seg-source><alt-trans><source>x"
                "</source><target>y</target></alt-trans><note>n</note></trans-unit>"),
         0, "a",
         XLIFF1(
             "<trans-unit><source>a</source><seg-source><mrk mtype=\"seg\">a</mrk></seg-source><target " STATE
             ">A</target><alt-trans><source>x</source><target>y</target></alt-trans><note>n</note></"
             "trans-unit>")},
        {XLIFF1("<trans-unit><source>a <ph id=\"1\">&lt;br/></ph> %s <mrk mtype=\"protected\">X</mrk> <bpt "
                "id=\"2\">[b]</bpt>c"
                "<ept id=\"2\">[/b]</ept>.</source></trans-unit>"),
         0, "a c.",
         XLIFF1("<trans-unit><source>a <ph id=\"1\">&lt;br/></ph> %s <mrk mtype=\"protected\">X</mrk> <bpt "
                "id=\"2\">[b]</bpt>c"
                "<ept id=\"2\">[/b]</ept>.</source><target " STATE
                ">A <ph id=\"1\">&lt;br/></ph> %s <mrk mtype=\"protected\">X</mrk> <bpt id=\"2\">[b]</bpt>C"
                "<ept id=\"2\">[/b]</ept>.</target></trans-unit>")},
        {XLIFF1("<trans-unit xml:space=\"preserve\"><source>a\nb</source></trans-unit>"), 0, "a b",
         XLIFF1("<trans-unit xml:space=\"preserve\"><source>a\nb</source><target " STATE
                ">A \nB</target></trans-unit>")},
        {XLIFF1("<trans-unit><source>a &lt;b class=\"c\"&gt;d&lt;/b> e&lt;br/&gt;f &lt; g "
                "&lt;1&gt;</source></trans-unit>"),
         0, "a d e f < g <1>",
         XLIFF1("<trans-unit><source>a &lt;b class=\"c\"&gt;d&lt;/b> e&lt;br/&gt;f &lt; g "
                "&lt;1&gt;</source><target " STATE
                ">A &lt;b class=\"c\"&gt;D&lt;/b> E &lt;br/&gt;F &lt; G &lt;1&gt;</target></trans-unit>")},
        {XLIFF1("<trans-unit><source>%s</source></trans-unit><trans-unit><source/></trans-unit>"), 0, "",
         XLIFF1("<trans-unit><source>%s</source></trans-unit><trans-unit><source/></trans-unit>")},
        {"<x:xliff version=\"1.2\" "
         "xmlns:x=\"u\"><x:trans-unit><x:source>a</x:source></x:trans-unit></x:xliff>",
         0, "a",
         "<x:xliff version=\"1.2\" xmlns:x=\"u\"><x:trans-unit><x:source>a</x:source><x:target " STATE
         ">A</x:target></x:trans-unit></x:xliff>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check("a.xlf", cases[i].bytes, cases[i].all, NULL, cases[i].texts, cases[i].expected);
    }
}

static void test_xliff2(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int all;
        const char *texts, *expected;
    } cases[] = {
        {XLIFF2("<unit id=\"1\">\n <segment>\n  <source>a <pc id=\"1\">b</pc> c</source>\n "
                "</segment>\n</unit>\n"),
         0, "a b c",
         XLIFF2(
             "<unit id=\"1\">\n <segment state=\"translated\">\n  <source>a <pc id=\"1\">b</pc> c</source>\n"
             "  <target>A <pc id=\"1\">B</pc> C</target>\n </segment>\n</unit>\n")},
        {XLIFF2("<unit><segment state=\"initial\" "
                "id=\"s\"><source>a</source><target>x</target></segment><ignorable><source> "
                "</source></ignorable><segment "
                "state=\"final\"><source>b</source><target>y</target></segment></unit>"),
         0, "a",
         XLIFF2("<unit><segment state=\"translated\" "
                "id=\"s\"><source>a</source><target>A</target></segment><ignorable><source> "
                "</source></ignorable><segment "
                "state=\"final\"><source>b</source><target>y</target></segment></unit>")},
        {XLIFF2("<unit><segment><source>a</source><target>x</target></segment></unit>"), 1, "a",
         XLIFF2("<unit><segment state=\"translated\"><source>a</source><target>A</target></segment></unit>")},
        {XLIFF2("<unit translate=\"no\"><segment><source>a</source></segment></unit>"), 0, "",
         XLIFF2("<unit translate=\"no\"><segment><source>a</source></segment></unit>")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check("a.xliff", cases[i].bytes, cases[i].all, NULL, cases[i].texts, cases[i].expected);
    }
    struct clf_document *document =
        open_with("file", XLIFF2("<unit><segment><source>a</source></segment></unit>"), 0, NULL);
    assert_string_equal(clf_document_format_of(document)->name, "xliff");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 2);
    clf_document_free(document);
}

#define TMX(body)       "<tmx version=\"1.4\"><header srclang=\"en-US\"/><body>\n" body "</body></tmx>\n"
#define TUV(lang, text) "<tuv xml:lang=\"" lang "\"><seg>" text "</seg></tuv>"

static void test_tmx(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int all;
        const char *target, *texts, *expected;
    } cases[] = {
        {TMX("<tu>\n  <tuv xml:lang=\"en\">\n    <seg>a <hi>b</hi> &lt;</seg>\n  </tuv>\n</tu>\n"), 0, "fr",
         "a b <",
         TMX("<tu>\n  <tuv xml:lang=\"en\">\n    <seg>a <hi>b</hi> &lt;</seg>\n  </tuv>\n  <tuv "
             "xml:lang=\"fr\">\n    <seg>A "
             "<hi>B</hi> &lt;</seg>\n  </tuv>\n</tu>\n")},
        {TMX("<tu>" TUV("en", "a") TUV("de", "x") "</tu>"), 0, "fr", "a",
         TMX("<tu>" TUV("en", "a") TUV("fr", "A") TUV("de", "x") "</tu>")},
        {TMX("<tu>" TUV("fr-FR", "") TUV("en-GB", "a") "</tu>"), 0, NULL, "a",
         TMX("<tu>" TUV("fr-FR", "A") TUV("en-GB", "a") "</tu>")},
        {TMX("<tu>" TUV("en", "a") TUV("fr", "x") "</tu>"), 0, "fr", "",
         TMX("<tu>" TUV("en", "a") TUV("fr", "x") "</tu>")},
        {TMX("<tu>" TUV("en", "a <ph>%s</ph>") TUV("fr", "x") "</tu>"), 1, "fr", "a",
         TMX("<tu>" TUV("en", "a <ph>%s</ph>") TUV("fr", "A <ph>%s</ph>") "</tu>")},
        {TMX("<tu><note>n</note>" TUV("en", "a") "<tuv lang=\"fr\"><prop>p</prop><seg/></tuv></tu>"), 0, NULL,
         "a",
         TMX("<tu><note>n</note>" TUV("en", "a") "<tuv lang=\"fr\"><prop>p</prop><seg>A</seg></tuv></tu>")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check("a.tmx", cases[i].bytes, cases[i].all, cases[i].target, cases[i].texts, cases[i].expected);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        clf_status status;
        const char *message;
    } cases[] = {
        {"a.xlf", "<xliff version=\"1.2\">", CLF_FORMAT, "a.xlf: line 1: "},
        {"a.xlf", "<a/>", CLF_FORMAT, "a.xlf: line 1: is not the element <xliff> with version 1.2 or 2"},
        {"a.xlf", "<xliff version=\"3.0\"/>", CLF_FORMAT, "with version 1.2 or 2"},
        {"a.tmx", TMX("<tu>" TUV("en", "a") "</tu>"), CLF_BAD_ARGUMENT,
         "a.tmx: line 2: has no translation, and"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_document *document;
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = cases[i].name;
        assert_fails(clf_document_open(&document, cases[i].bytes, strlen(cases[i].bytes), &options),
                     cases[i].status, cases[i].message);
    }
}

static struct clf_memory *open_memory(const char *bytes, const char *source, const char *target)
{
    struct clf_memory *memory;
    struct clf_memory_options options;
    clf_memory_options_init(&options);
    options.name = "m.tmx";
    options.source_language = source;
    options.target_language = target;
    assert_ok(clf_memory_open(&memory, bytes, strlen(bytes), &options));
    return memory;
}

/* Recalls the texts of a document, and translates the others in upper case. */
static void check_memory(const char *name, const char *bytes, const struct clf_memory *memory, int count,
                         const char *expected)
{
    int found;
    struct clf_document *document = document_open(name, bytes);
    assert_ok(clf_document_recall(document, memory, &found));
    const char *written = document_written(document);
    if (found != count || strcmp(written, expected) != 0) {
        fail_msg("%s\nexpected %d:\n%s\ngot %d:\n%s", bytes, count, expected, found, written);
    }
    clf_document_free(document);
}

static void test_memory(void **state)
{
    (void)state;
    static const char bytes[] =
        TMX("<tu>" TUV("en", "one") TUV("fr", "old") TUV("de", "eins") "</tu><tu>" TUV("en-GB", "one") TUV(
            "fr-FR",
            "un") "</tu>"
                  "<tu>" TUV("en", " two\n three ") TUV(
                      "fr",
                      "deux &amp; trois") "</tu>"
                                          "<tu>" TUV("en", "<ph>%d</ph> files in {x}") TUV(
                                              "fr",
                                              "{x} : <ph>%d</ph> fichiers") "</tu>"
                                                                            "<tu>" TUV(
                                                                                "en",
                                                                                "a "
                                                                                "<bpt>&lt;b></bpt>b<ept>&lt;/"
                                                                                "b></ept> c")
                                                                                TUV("fr",
                                                                                    "<bpt>&lt;b></"
                                                                                    "bpt>x<ept>&lt;/b></ept> "
                                                                                    "y") "</tu>"
                                                                                         "<tu>" TUV("en",
                                                                                                    "d %s")
                                                                                             TUV("fr", "lost") "</tu><tu>" TUV(
                                                                                                 "de", "vier")
                                                                                                 TUV("fr",
                                                                                                     "quatre") "</tu>");
    struct clf_memory *memory = open_memory(bytes, "en", "fr");
    assert_int_equal(clf_memory_count(memory), 6);
    check_memory("a.txt", "one\nOne\nfour\ntwo  three\n", memory, 2, "un\nOne\nfour\ndeux & trois\n");
    check_memory("a.json", "[\"%d files in {x}\", \"d %s\", \"a <b>b</b> c\"]", memory, 2,
                 "[\"{x} : %d fichiers\", \"d %s\", \"<b>x</b> y\"]");
    check_memory("a.po", "msgid \"one\"\nmsgstr \"\"\n", memory, 1, "msgid \"one\"\nmsgstr \"un\"\n");
    check_memory("a.srt", "1\n00:00:01,000 --> 00:00:02,000\none\n", memory, 1,
                 "1\n00:00:01,000 --> 00:00:02,000\nun\n");
    clf_memory_free(memory);
    memory = open_memory(bytes, "eng_Latn", "deu_Latn");
    assert_int_equal(clf_memory_count(memory), 1);
    check_memory("a.txt", "one\n", memory, 1, "eins\n");
    clf_memory_free(memory);
    /* "est" begins with "es", but is Estonian */
    memory = open_memory(TMX("<tu>" TUV("en", "one") TUV("es", "uno") TUV("et", "\xc3\xbcks") "</tu>"), "en",
                         "est_Latn");
    check_memory("a.txt", "one\n", memory, 1, "\xc3\xbcks\n");
    clf_memory_free(memory);
    memory = open_memory(bytes, NULL, NULL);
    assert_int_equal(clf_memory_count(memory), 6);
    clf_memory_free(memory);
    assert_fails(clf_memory_open(&memory, "<a/>", 4, NULL), CLF_FORMAT, "memory: is not TMX");
    assert_fails(clf_memory_open(&memory, "<tmx>", 5, NULL), CLF_FORMAT, "memory: line 1: ");
    assert_fails(clf_memory_open(&memory, "\n\xff", 2, NULL), CLF_TEXT, "memory: is not UTF-8");
}

/* Opens a memory, and recalls a document; returns CLF_OK or CLF_OUT_OF_MEMORY. */
static clf_status run_memory(struct clf_document *document)
{
    static const char bytes[] = TMX("<tu>" TUV("en", "a <b>%s</b>") TUV("fr", "<b>%s</b> b") "</tu>");
    struct clf_memory *memory;
    CLF__TRY(clf_memory_open(&memory, bytes, strlen(bytes), NULL));
    clf_status status = clf_document_recall(document, memory, NULL);
    clf_memory_free(memory);
    return status;
}

static void test_failed_allocations(void **state)
{
    (void)state;
    struct clf_document *document = document_open("a.txt", "a %s\nother\n");
    clf__memory_fail_at(0);
    assert_ok(run_memory(document));
    uint64_t all = clf__memory_count();
    for (uint64_t n = 1; n <= all; n++) {
        clf__memory_fail_at(n);
        assert_int_equal(run_memory(document), CLF_OUT_OF_MEMORY);
    }
    clf__memory_fail_at(0);
    clf_document_free(document);
}

/* Hostile documents are read in a time that does not grow faster than the text. */
static void test_hostile(void **state)
{
    (void)state;
    const size_t most = support_small() ? 50000 : 1000000;
    static const char *const patterns[] = {"<g id=\"1\">a</g>",
                                           "<x/>",
                                           "a ",
                                           "%s ",
                                           "&amp;",
                                           "<!-- a -->",
                                           "</source></trans-unit><trans-unit><source>a",
                                           "{",
                                           "<mrk mtype=\"protected\">a</mrk>"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t size = strlen(patterns[i]);
        char *bytes = support_array(most + 1000, 1);
        strcpy(bytes, "<xliff version=\"1.2\"><file><trans-unit><source>a");
        size_t used = strlen(bytes);
        for (; used + size < most; used += size) {
            memcpy(bytes + used, patterns[i], size);
        }
        strcpy(bytes + used, "</source></trans-unit></file></xliff>");
        struct clf_document *document = open_with("a.xlf", bytes, 0, NULL);
        for (int k = 0; k < clf_document_count(document); k++) {
            assert_ok(clf_document_set(document, k, "Z", 1, NULL, 0));
        }
        struct clf_document *again = open_with("a.xlf", document_written(document), 0, NULL);
        clf_document_free(again);
        clf_document_free(document);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_xliff1, support_teardown),
        cmocka_unit_test_teardown(test_xliff2, support_teardown),
        cmocka_unit_test_teardown(test_tmx, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_memory, support_teardown),
        cmocka_unit_test_teardown(test_failed_allocations, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] built without libxml2\n");
    return 0;
}

#endif
