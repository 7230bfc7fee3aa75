/* Documents in other encodings than UTF-8. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

/* Bytes of a string literal, with their number. */
#define BYTES(text) text, sizeof(text) - 1

static clf_status open_as(struct clf_document **out, const char *name, const char *encoding,
                          const char *bytes, size_t size)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    options.encoding = encoding;
    return clf_document_open(out, bytes, size, &options);
}

/* Translates a document, and compares the bytes. */
static void check(const char *name, const char *encoding, const char *bytes, size_t size,
                  document_words *words, const char *expected, size_t expected_size)
{
    struct clf_document *document;
    char *written;
    size_t written_size;
    assert_ok(open_as(&document, name, encoding, bytes, size));
    document_translate(document, words);
    assert_ok(clf_document_write(&written, &written_size, document));
    assert_int_equal(written_size, expected_size);
    assert_memory_equal(written, expected, expected_size);
    clf_string_free(written);
    clf_document_free(document);
}

static void test_encodings(void **state)
{
    (void)state;
    static const struct {
        const char *encoding, *bytes;
        size_t size;
        const char *expected;
        size_t expected_size;
    } cases[] = {
        {"ISO-8859-1", BYTES("caf\xe9\r\nb\n"), BYTES("CAF\xe9\r\nB\n")},
        {"latin1", BYTES("caf\xe9"), BYTES("CAF\xe9")},
        {"windows-1252", BYTES("\x80 a \x93 b"), BYTES("\x80 A \x93 B")},
        {"koi8-r", BYTES("\xc1 a"), BYTES("\xc1 A")},
        {"Shift_JIS", BYTES("\x93\xfa\x96{ a"), BYTES("\x93\xfa\x96{ A")},
        {"GB18030", BYTES("\xd6\xd0 a \x81\x30\x81\x30"), BYTES("\xd6\xd0 A \x81\x30\x81\x30")},
        {"UTF-16LE", BYTES("a\0\n\0"), BYTES("A\0\n\0")},
        {"UTF-16BE", BYTES("\0a\0\n"), BYTES("\0A\0\n")},
        {"UTF-8", BYTES("\xef\xbb\xbf\xc3\xa9 a"), BYTES("\xef\xbb\xbf\xc3\xa9 A")},
        {NULL,
         BYTES("\xff\xfe"
               "a\0 \0\x3d\xd8\x00\xde"),
         BYTES("\xff\xfe"
               "A\0 \0\x3d\xd8\x00\xde")},
        {"utf-16", BYTES("\xfe\xff\0a"), BYTES("\xfe\xff\0A")},
        {NULL, BYTES("\xfe\xff\0a\0\r\0\n"), BYTES("\xfe\xff\0A\0\r\0\n")},
        {NULL, BYTES("\xff\xfe\0\0a\0\0\0"), BYTES("\xff\xfe\0\0A\0\0\0")},
        {NULL, BYTES("\0\0\xfe\xff\0\0\0a"), BYTES("\0\0\xfe\xff\0\0\0A")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check("a.txt", cases[i].encoding, cases[i].bytes, cases[i].size, document_shout, cases[i].expected,
              cases[i].expected_size);
        check("a.txt", cases[i].encoding, cases[i].bytes, cases[i].size, document_same, cases[i].bytes,
              cases[i].size);
    }
    check("a.srt", "latin1", BYTES("1\r\n00:00:01,000 --> 00:00:02,000\r\n\xe9t\xe9\r\n"), document_shout,
          BYTES("1\r\n00:00:01,000 --> 00:00:02,000\r\n\xe9T\xe9\r\n"));
    /* A text of several chunks, whose end is in the second half of a pair of surrogates. */
    char *bytes = support_array(6000, 1), *expected = support_array(6000, 1);
    for (int i = 0; i < 1000; i++) {
        memcpy(bytes + 6 * i,
               i % 10 < 9 ? "\x3d\xd8\x00\xde"
                            "a\0"
                          : "\n\0\n\0a\0",
               6);
        memcpy(expected + 6 * i,
               i % 10 < 9 ? "\x3d\xd8\x00\xde"
                            "A\0"
                          : "\n\0\n\0A\0",
               6);
    }
    check("a.txt", "UTF-16LE", bytes, 6000, document_shout, expected, 6000);
}

/* A character with several notations keeps its bytes in a document that is not changed. */
static void test_unchanged(void **state)
{
    (void)state;
    check("a.txt", "Shift_JIS", BYTES("\x87\x9a a"), document_same, BYTES("\x87\x9a a"));
    check("a.txt", "Shift_JIS", BYTES("\x87\x9a a"), document_shout, BYTES("\x81\xe6 A"));
}

#ifdef CLF_HAS_LIBXML2
#define XML(encoding) "<?xml version=\"1.0\" encoding=\"" encoding "\"?>\n<r>"
#define WIDE_XML                                                                                             \
    "\xff\xfe<\0?\0x\0m\0l\0 \0v\0"                                                                          \
    "e\0r\0s\0i\0o\0n\0=\0'\0001\0.\0000\0'\0?\0>\0<\0r\0>\0"

/* XML in the encoding that it declares. */
static void test_xml(void **state)
{
    (void)state;
    struct clf_document *document;
    char *written;
    size_t size;
    check("a.xml", NULL, BYTES(XML("ISO-8859-1") "caf\xe9</r>"), document_shout,
          BYTES(XML("ISO-8859-1") "CAF\xe9</r>"));
    check("a.xml", NULL, BYTES(XML("utf-8") "caf\xc3\xa9</r>"), document_shout,
          BYTES(XML("utf-8") "CAF\xc3\xa9</r>"));
    check("a.xml", NULL, BYTES(WIDE_XML "a\0<\0/\0r\0>\0"), document_shout,
          BYTES(WIDE_XML "A\0<\0/\0r\0>\0"));
    assert_ok(open_as(&document, "a.xml", NULL, BYTES(XML("ISO-8859-1") "a</r>")));
    assert_ok(clf_document_set(document, 0, "\xe2\x82\xac", 3, NULL, 0));
    assert_ok(clf_document_write(&written, &size, document));
    assert_string_equal(written, XML("ISO-8859-1") "&#8364;</r>");
    clf_string_free(written);
    clf_document_free(document);
    assert_fails(open_as(&document, "a.xml", NULL, BYTES(XML("nosuch") "a</r>")), CLF_UNSUPPORTED,
                 "a.xml: \"nosuch\" is not an encoding");
    assert_fails(
        open_as(&document, "a.xml", NULL, BYTES(XML("utf-16") "a</r>")), CLF_TEXT,
        "a.xml: line 1: declares the encoding utf-16; convert the file and its declaration to UTF-8");
}
#endif

#ifdef CLF_HAS_GUMBO
/* HTML in the encoding that a meta element names. */
static void test_html(void **state)
{
    (void)state;
    static const char *const western[] = {
        "<meta charset=windows-1252>", "<head><META CHARSET = 'latin1' />",
        "<meta content='text/html; charset=iso-8859-1' http-equiv=Content-Type>",
        "<title>\xe9</title><meta name=a content=b><meta charset=\"CP1252\">"};
    static const char *const others[] = {"<meta charset=utf-8>",
                                         "<meta charset=utf-16>",
                                         "<meta charset=nosuch>",
                                         "<meta charset>",
                                         "<!-- <meta charset=latin1> -->",
                                         "<meta content='text/html; charset=latin1'>",
                                         "<meta charset=latin1",
                                         "<metal charset=latin1>",
                                         "<p charset=latin1>",
                                         "\xef\xbb\xbf<meta charset=latin1>"};
    char bytes[1200], expected[1200];
    for (size_t i = 0; i < sizeof western / sizeof *western; i++) {
        int size = snprintf(bytes, sizeof bytes, "%s<p>caf\xe9 \x93</p>", western[i]);
        struct clf_document *document;
        assert_ok(open_as(&document, "a.html", NULL, bytes, (size_t)size));
        const char *text = clf_document_segment_at(document, clf_document_count(document) - 1)->text;
        assert_string_equal(text, "caf\xc3\xa9 \xe2\x80\x9c");
        clf_document_free(document);
        snprintf(expected, sizeof expected, "%s<p>CAF\xe9 \x93</p>", western[i]);
        check("a.html", NULL, bytes, (size_t)size, document_shout, expected, (size_t)size);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int size = snprintf(bytes, sizeof bytes, "%s<p>caf\xc3\xa9</p>", others[i]);
        check("a.html", NULL, bytes, (size_t)size, document_same, bytes, (size_t)size);
        size = snprintf(bytes, sizeof bytes, "%s<p>caf\xe9</p>", others[i]);
        struct clf_document *document;
        assert_fails(open_as(&document, "a.html", NULL, bytes, (size_t)size), CLF_TEXT, "a.html: ");
    }
    /* Another format, another encoding, and a meta element that comes too late. */
    struct clf_document *document;
    const char latin[] = "<meta charset=latin1>caf\xe9";
    assert_fails(open_as(&document, "a.txt", NULL, BYTES(latin)), CLF_TEXT, "a.txt: ");
    assert_fails(open_as(&document, "a.html", "UTF-8", BYTES(latin)), CLF_TEXT, "a.html: ");
    memset(bytes, ' ', 1010);
    strcpy(bytes + 1010, latin);
    assert_fails(open_as(&document, "a.html", NULL, bytes, strlen(bytes)), CLF_TEXT, "a.html: ");
}
#endif

static void test_missing_characters(void **state)
{
    (void)state;
    struct clf_document *document;
    char *written;
    size_t size;
    assert_ok(open_as(&document, "a.txt", "ISO-8859-1", BYTES("\xe9\na\nb\n")));
    assert_ok(clf_document_set(document, 1, "x \xe2\x82\xac", 5, NULL, 0));
    assert_fails(
        clf_document_write(&written, &size, document), CLF_TEXT,
        "a.txt: line 2: the translation has the character \xe2\x82\xac (U+20AC), which ISO-8859-1 does "
        "not have; convert the document to UTF-8 first");
    assert_ok(clf_document_set(document, 1, "x", 1, NULL, 0));
    assert_ok(clf_document_write(&written, &size, document));
    assert_string_equal(written, "\xe9\nx\nb\n");
    clf_string_free(written);
    clf_document_free(document);
#ifdef CLF_HAS_GUMBO
    assert_ok(open_as(&document, "a.html", "ISO-8859-1", BYTES("<p>\xe9</p>")));
    assert_ok(clf_document_set(document, 0, "\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa8", 11, NULL, 0));
    assert_ok(clf_document_write(&written, &size, document));
    assert_string_equal(written, "<p>&#8364; &#128512; \xe8</p>");
    clf_string_free(written);
    clf_document_free(document);
#endif
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *encoding, *bytes;
        size_t size;
        clf_status status;
        const char *message;
    } cases[] = {
        {"latin-99", BYTES("a"), CLF_UNSUPPORTED,
         "a.txt: \"latin-99\" is not an encoding; examples are UTF-16LE"},
        {"", BYTES("a"), CLF_UNSUPPORTED, "\"\" is not an encoding"},
        {"../../etc/passwd", BYTES("a"), CLF_UNSUPPORTED, "is not an encoding"},
        {"Shift_JIS", BYTES("a\nb\n\x80\xff"), CLF_TEXT, "a.txt: line 3: the byte 0x80 is not Shift_JIS"},
        {"UTF-16LE", BYTES("a\0b"), CLF_TEXT, "a.txt: line 1: the byte 0x62 is not UTF-16LE"},
        {"UTF-16LE", BYTES("a\0\0\0"), CLF_TEXT, "a.txt: line 1: contains a NUL byte"},
        {NULL, BYTES("\xff\xfe\x00\xdc"), CLF_TEXT, "a.txt: line 1: the byte 0x00 is not UTF-16LE"},
        {NULL, BYTES("a\n\xe9\n"), CLF_TEXT, "a.txt: line 2: is not UTF-8; name the encoding of the file"},
        {NULL, BYTES("a\0b\0c\0d\0"), CLF_TEXT,
         "a.txt: is UTF-16 without a byte order mark; name its encoding"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_document *document;
        assert_fails(open_as(&document, "a.txt", cases[i].encoding, cases[i].bytes, cases[i].size),
                     cases[i].status, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_encodings, support_teardown),
        cmocka_unit_test_teardown(test_unchanged, support_teardown),
#ifdef CLF_HAS_LIBXML2
        cmocka_unit_test_teardown(test_xml, support_teardown),
#endif
#ifdef CLF_HAS_GUMBO
        cmocka_unit_test_teardown(test_html, support_teardown),
#endif
        cmocka_unit_test_teardown(test_missing_characters, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
