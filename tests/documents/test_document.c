/* Documents of any format: formats, options, segments, plain text, errors, and failed allocations. */
#include "support/support.h"

#include <string.h>

#include "base/memory.h"
#include "support/documents.h"

#define BOM "\xef\xbb\xbf"

static void test_plain_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          "\n",
        " \r\n\r\n", "Bonjour",
        "Bonjour\n", "un\r\n\r\n  deux trois\t\r\n12\r\nquatre",
        "a\rb\r",    BOM "Bonjour\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        document_check("a.txt", texts[i], document_same, texts[i]);
    }
    document_check_texts("a.TXT", BOM "un\r\n\r\n  deux trois\t\r\n12 |\r\nquatre", "un|deux trois|quatre");
    document_check("a.txt", BOM "un\r\n\r\n  deux trois\t\r\n12\r\nquatre", document_shout,
                   BOM "UN\r\n\r\n  DEUX TROIS\t\r\n12\r\nQUATRE");
    document_check("a.txt", "<b>oui</b> & non\n", document_shout, "<B>OUI</B> & NON\n");
}

static clf_status open_as(struct clf_document **out, const char *name, const char *format, const char *bytes)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    options.format = format;
    return clf_document_open(out, bytes, strlen(bytes), &options);
}

static void check_format(const char *name, const char *format, const char *bytes, const char *expected)
{
    struct clf_document *document;
    assert_ok(open_as(&document, name, format, bytes));
    assert_string_equal(clf_document_format_of(document)->name, expected);
    clf_document_free(document);
}

#define SRT "1\n00:00:01,000 --> 00:00:02,000\nOui.\n"
#define VTT "WEBVTT\n\n00:01.000 --> 00:02.000\nOui.\n"

static void test_formats(void **state)
{
    (void)state;
    struct clf_document *document;
    check_format("a.srt", NULL, SRT, "srt");
    check_format("A.SRT", NULL, SRT, "srt");
    check_format("a.vtt", NULL, VTT, "vtt");
    check_format("a.txt", NULL, VTT, "text");
    check_format("a.txt", "vtt", VTT, "vtt");
    check_format("subtitles", NULL, BOM "\n" SRT, "srt");
    check_format(NULL, NULL, BOM VTT, "vtt");
    assert_fails(
        open_as(&document, "notes", NULL, "Oui.\n"), CLF_UNSUPPORTED,
        "notes: the format is unknown; rename the file or name its format; the formats are text (.txt)");
    assert_fails(open_as(&document, "a.xyz", NULL, ""), CLF_UNSUPPORTED, "srt (.srt)");
    assert_fails(open_as(&document, "a.txt", "doc", "Oui.\n"), CLF_UNSUPPORTED,
                 "\"doc\" is not a format of documents; the formats are");
    assert_fails(open_as(&document, "a.pdf", NULL, "Oui.\n"), CLF_UNSUPPORTED,
                 "extract the text first (pdftotext)");
    assert_fails(open_as(&document, "a.txt", NULL, "%PDF-1.7\n"), CLF_UNSUPPORTED,
                 "a.txt: PDF files contain");
    assert_null(document);
    for (int i = 0; clf_document_format_at(i) != NULL; i++) {
        assert_true(clf_document_format_at(i)->suffixes[0] == '.');
    }
    assert_null(clf_document_format_at(-1));
}

static void test_encodings(void **state)
{
    (void)state;
    struct clf_document *document;
    assert_fails(open_as(&document, "a.txt", NULL, "un\ndeux\ncaf\xe9\n"), CLF_TEXT,
                 "a.txt: line 3: is not UTF-8");
    assert_fails(clf_document_open(&document, "a\nb\0c", 5, NULL), CLF_UNSUPPORTED, "document: the format");
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.txt";
    assert_fails(clf_document_open(&document, "a\nbcdefghij\0c", 13, &options), CLF_TEXT,
                 "a.txt: line 2: contains a NUL byte");
    assert_fails(clf_document_open(&document, "a\0b\0c\0d\0", 8, &options), CLF_TEXT,
                 "a.txt: is UTF-16 without a byte order mark");
}

/* A limit of segments refuses a document. */
static void test_limit(void **state)
{
    (void)state;
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.txt";
    options.most_segments = 2;
    assert_ok(clf_document_open(&document, "un\n\ndeux\n", 9, &options));
    clf_document_free(document);
    assert_fails(clf_document_open(&document, "un\n\ndeux\ntrois", 14, &options), CLF_UNSUPPORTED,
                 "a.txt: has more than 2 texts to translate");
    options.most_segments = -1;
    assert_fails(clf_document_open(&document, "un", 2, &options), CLF_BAD_ARGUMENT, "most_segments");
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.txt";
    options.subtitle_width = -1;
    assert_fails(clf_document_open(&document, "a", 1, &options), CLF_BAD_ARGUMENT, "subtitle_width");
    assert_fails(clf_document_open(&document, NULL, 1, NULL), CLF_BAD_ARGUMENT, "NULL");
    document = document_open("a.txt", "un deux\n");
    const struct clf_alignment_link links[] = {{0, 2, 0, 3}, {3, 5, 4, 3}};
    assert_fails(clf_document_set(document, 1, "one", 3, NULL, 0), CLF_BAD_ARGUMENT, "segment 1");
    assert_fails(clf_document_set(document, -1, "one", 3, NULL, 0), CLF_BAD_ARGUMENT, "segment -1");
    assert_fails(clf_document_set(document, 0, "one two", 7, links, 2), CLF_BAD_ARGUMENT, "link 1");
    assert_fails(clf_document_set(document, 0, "\xff", 1, NULL, 0), CLF_TEXT, "UTF-8");
    assert_fails(clf_document_set(document, 0, "a\0b", 3, NULL, 0), CLF_TEXT, "UTF-8");
    assert_null(clf_document_segment_at(document, 1));
    assert_null(clf_document_segment_at(document, -1));
    assert_fails(clf_document_translate(document, NULL, NULL), CLF_BAD_ARGUMENT, "engine");
    clf_document_free(document);
    clf_document_free(NULL);
}

static void test_segments(void **state)
{
    (void)state;
    struct clf_document *document = document_open("a.txt", "\nun deux\n\ntrois");
    const struct clf_document_segment *segment = clf_document_segment_at(document, 1);
    assert_int_equal(clf_document_count(document), 2);
    assert_int_equal(clf_document_segment_at(document, 0)->line, 2);
    assert_int_equal(segment->line, 4);
    assert_int_equal(segment->mark_count, 0);
    assert_null(segment->translation);
    assert_ok(clf_document_set(document, 1, " three\nor so \n", 13, NULL, 0));
    assert_string_equal(segment->translation, "three or so");
    assert_string_equal(document_written(document), "\nun deux\n\nthree or so");
    assert_ok(clf_document_set(document, 1, "", 0, NULL, 0));
    assert_string_equal(document_written(document), "\nun deux\n\n");
    assert_null(clf_document_warning(document, 0));
    clf_document_free(document);
}

/* Opens, translates and writes a document; returns CLF_OK or CLF_OUT_OF_MEMORY. */
static clf_status run(const char *format, const char *bytes, const char *encoding)
{
    struct clf_document *document;
    char *written = NULL;
    size_t size;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.format = format;
    options.encoding = encoding;
    options.kept_terms = "kept\n";
    options.target_language = "fr";
    CLF__TRY(clf_document_open(&document, bytes, strlen(bytes), &options));
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < clf_document_count(document); i++) {
        const struct clf_alignment_link link = {0, 1, 0, 1};
        status = clf_document_set(document, i, "Some other words here.", 22, &link, 1);
    }
    if (status == CLF_OK) {
        status = clf_document_write(&written, &size, document);
    }
    clf_string_free(written);
    clf_document_free(document);
    return status;
}

static void test_failed_allocations(void **state)
{
    (void)state;
    static const struct {
        const char *format, *bytes, *encoding;
    } cases[] = {
        {"srt",
         "1\n00:00:01,000 --> 00:00:01,200\n{\\an8}A <i>b</i> sentence\nthat goes\n\n"
         "2\n00:00:02,000 --> 00:00:03,000\non. Another \xe2\x99\xaa\n- One more.\n",
         NULL},
        {"ass",
         "[Script Info]\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{\\an8}A "
         "{\\i1}b{\\i0}\\Nkept "
         "sentence\n",
         NULL},
        {"text", "a kept \xe9\nb\n", "latin1"},
        {"json", "{\"a\": \"b kept {c} d\"}", NULL},
        {"po", "msgid \"a kept %s\"\n\"b\"\nmsgstr \"\"\n", NULL},
        {"yaml", "a: [b %s, 'c', \"d\\n\"]\nb: |\n  c\n  d\n", NULL},
        {"markdown", "# a *b*\n\nc [d] `e` kept\nf\n\n| g |\n|---|\n| &copy; h |\n\n[d]: i\n", NULL},
        {"xliff",
         "<xliff version='1.2'><trans-unit approved='yes'><source>a <g id='1'>b</g> kept</source><target "
         "state='new'/>"
         "</trans-unit></xliff>",
         NULL},
        {"tmx", "<tmx><tu><tuv xml:lang='en'>\n<seg>a <hi>b</hi></seg>\n</tuv></tu></tmx>", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clf__memory_fail_at(0);
        clf_status status = run(cases[i].format, cases[i].bytes, cases[i].encoding);
        uint64_t all = clf__memory_count();
        if (status == CLF_UNSUPPORTED) { /* built without the format */
            continue;
        }
        assert_ok(status);
        for (uint64_t n = 1; n <= all; n++) {
            clf__memory_fail_at(n);
            if (run(cases[i].format, cases[i].bytes, cases[i].encoding) != CLF_OUT_OF_MEMORY) {
                fail_msg("%s: allocation %d of %d", cases[i].format, (int)n, (int)all);
            }
        }
    }
    clf__memory_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_plain_text, support_teardown),
        cmocka_unit_test_teardown(test_formats, support_teardown),
        cmocka_unit_test_teardown(test_encodings, support_teardown),
        cmocka_unit_test_teardown(test_limit, support_teardown),
        cmocka_unit_test_teardown(test_wrong_arguments, support_teardown),
        cmocka_unit_test_teardown(test_segments, support_teardown),
        cmocka_unit_test_teardown(test_failed_allocations, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
