/* XML and XHTML: sentences with inline elements, entities, CDATA, lists of elements, and hostile documents.
 */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "support/documents.h"
#include "translate/documents/xml/xml.h"

#ifdef CLF_HAS_LIBXML2

#include <libxml/parser.h>

static void test_texts(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"<a>one</a>", "one", "<a>ONE</a>"},
        {"\xef\xbb\xbf<?xml version='1.0' encoding=\"utf-8\"?>\r\n<a x='two > one'>\r\n  one \r\n</a>\r\n",
         "one",
         "\xef\xbb\xbf<?xml version='1.0' encoding=\"utf-8\"?>\r\n<a x='two > one'>\r\n  ONE \r\n</a>\r\n"},
        {"<r><k>one</k><n>12</n><k/><k>two\n three</k></r>", "one|two three",
         "<r><k>ONE</k><n>12</n><k/><k>TWO THREE</k></r>"},
        {"<p>one <b>two <i a=\"/\">three</i></b> four.</p>", "one two three four.",
         "<p>ONE <b>TWO <i a=\"/\">THREE</i></b> FOUR.</p>"},
        {"<p>one <b><i>two</i></b></p>", "one two", "<p>ONE <b><i>TWO</i></b></p>"},
        {"<p>one <ul><li>two</li><li>three</li></ul> four</p>", "one|two|three|four",
         "<p>ONE <ul><li>TWO</li><li>THREE</li></ul> FOUR</p>"},
        {"<p><!-- no --> one<!-- no --> two <?pi no?> </p>", "one two",
         "<p><!-- no --> ONE<!-- no --> TWO <?pi no?> </p>"},
        {"<p>a &lt;b&gt; &amp;&#233;&#xe9; &quot;c&apos; %s</p>", "a <b> &\xc3\xa9\xc3\xa9 \"c'",
         "<p>A &lt;B&gt; &amp;\xc3\xa9\xc3\xa9 \"C' %s</p>"},
        {"<p><![CDATA[a < b & c]]> d</p>", "a < b & c|d", "<p><![CDATA[A < B & C]]> D</p>"},
        {"<p><![CDATA[<p>one <b>two</b></p>]]></p>", "one two", "<p><![CDATA[<p>ONE <b>TWO</b></p>]]></p>"},
        {"<p>one <x translate='no'>two</x> three</p>", "one three",
         "<p>ONE <x translate='no'>two</x> THREE</p>"},
        {"<r><s translatable=\"false\">one</s><s>two %1$s</s></r>", "two",
         "<r><s translatable=\"false\">one</s><s>TWO %1$s</s></r>"},
        {"<p xml:space=\"preserve\">one\n  two\n\nthree</p>", "one|two|three",
         "<p xml:space=\"preserve\">ONE\n  TWO\n\nTHREE</p>"},
        {"<!DOCTYPE r [<!ENTITY v \"1 > 0\"><!-- ]> ' --><!ELEMENT r ANY>]>\n<r>one &v; two</r>", "one two",
         "<!DOCTYPE r [<!ENTITY v \"1 > 0\"><!-- ]> ' --><!ELEMENT r ANY>]>\n<r>ONE &v; TWO</r>"},
        {"<r/>", "", "<r/>"},
    };
    document_check_cases("a.xml", cases, sizeof cases / sizeof *cases);
}

static void test_xhtml(void **state)
{
    (void)state;
    static const struct document_case cases[] = {
        {"<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>one</title>"
         "<style>p {}</style></head><body><p>two <b>three</b><br/>four <code>x</code> five</p>"
         "<pre>six\n seven</pre><script>no()</script></body></html>",
         "one|two three|four five|six|seven",
         "<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>ONE</title>"
         "<style>p {}</style></head><body><p>TWO <b>THREE</b><br/>FOUR <code>x</code> FIVE</p>"
         "<pre>SIX\n SEVEN</pre><script>no()</script></body></html>"},
        {"<html><p class=\"a notranslate\">one</p><p>two <span translate=\"no\">x</span> <img "
         "src=\"a\"/>three</p></html>",
         "two three",
         "<html><p class=\"a notranslate\">one</p><p>TWO <span translate=\"no\">x</span> <img "
         "src=\"a\"/>THREE</p></html>"},
        {"<html><b>one <p>two</p> three</b></html>", "one|two|three",
         "<html><b>ONE <p>TWO</p> THREE</b></html>"},
    };
    document_check_cases("a.xhtml", cases, sizeof cases / sizeof *cases);
}

static void test_marks(void **state)
{
    (void)state;
    struct clf_document *document = document_open("a.xml", "<p>one <b>two</b><c/> <!-- x -->three</p>\n");
    document_reverse(document);
    assert_string_equal(document_written(document), "<p>three <b>two</b><c/> <!-- x -->one</p>\n");
    clf_document_free(document);
}

/* Opens XML with lists of elements. */
static struct clf_document *open_with(const char *elements, const char *inlines, const char *bytes)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.format = "xml";
    options.elements = elements;
    options.inline_elements = inlines;
    return document_open_with(&options, bytes, strlen(bytes));
}

static void check_lists(const char *elements, const char *inlines, const char *texts)
{
    static const char bytes[] =
        "<r>top<t>one <b>two</b></t><w:p>three <x>four</x></w:p><q><t>five</t>six</q></r>";
    struct clf_document *document = open_with(elements, inlines, bytes);
    assert_string_equal(document_texts(document), texts);
    document_translate(document, document_same);
    assert_string_equal(document_written(document), bytes);
    clf_document_free(document);
}

static void test_lists(void **state)
{
    (void)state;
    check_lists(NULL, "b", "top|one two|three|four|five|six");
    check_lists("t", NULL, "one two|five");
    check_lists("t", "", "one|two|five");
    check_lists("p, t", NULL, "one two|three four|five");
    check_lists("w:p", "x", "three four");
    check_lists("r", "", "top|one|two|three|four|five|six");
    check_lists("none", NULL, "");
}

static void refuse(const char *bytes, clf_status status, const char *part)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.xml";
    assert_fails(clf_document_open(&document, bytes, strlen(bytes), &options), status, part);
    assert_null(document);
}

static void test_malformed(void **state)
{
    (void)state;
    refuse("", CLF_FORMAT, "a.xml: is empty");
    refuse("text", CLF_FORMAT, "a.xml: line 1: is not well-formed XML: Start tag expected");
    refuse("<a>\n<b></a>", CLF_FORMAT, "line 2: is not well-formed XML: Opening and ending tag mismatch: b");
    refuse("<a>\n\n&e;</a>", CLF_FORMAT, "line 3: is not well-formed XML: Entity 'e' not defined");
    refuse("<a>&#1;</a>", CLF_FORMAT, "not well-formed");
    refuse("<a b=c/>", CLF_FORMAT, "AttValue");
    refuse("<a/><b/>", CLF_FORMAT, "Extra content");
    refuse("<?xml version=\"1.0\" encoding=\"none\"?><a/>", CLF_UNSUPPORTED, "\"none\" is not an encoding");
}

static int loads;

static xmlParserInputPtr count_load(const char *url, const char *id, xmlParserCtxtPtr parser)
{
    (void)url;
    (void)id;
    (void)parser;
    loads++;
    return NULL;
}

/* A hostile document expands no entity, loads no file, and takes little time and memory. */
static void test_hostile(void **state)
{
    (void)state;
    xmlExternalEntityLoader loader = xmlGetExternalEntityLoader();
    xmlSetExternalEntityLoader(count_load);
    document_check_texts(
        "a.xml",
        "<!DOCTYPE r SYSTEM \"http://127.0.0.1:9/a.dtd\" [<!ENTITY f SYSTEM \"file:///etc/passwd\">"
        "<!ENTITY % p SYSTEM \"file:///etc/passwd\"> %p;]><r>one &f; two</r>",
        "one two");
    xmlSetExternalEntityLoader(loader);
    assert_int_equal(loads, 0);
    refuse("<!DOCTYPE r [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;\">]><r>&a;</r>", CLF_FORMAT,
           "not well-formed");
    char *bytes = support_array(1 << 21, 1),
         *at = bytes + sprintf(bytes, "<!DOCTYPE r [<!ENTITY e0 \"lol\">");
    for (int i = 1; i < 30; i++) {
        at += sprintf(at, "<!ENTITY e%d \"&e%d;&e%d;&e%d;&e%d;\">", i, i - 1, i - 1, i - 1, i - 1);
    }
    sprintf(at, "]><r>&e29;</r>");
    refuse(bytes, CLF_FORMAT, "not well-formed");
    at = bytes;
    for (int i = 0; i < 100000; i++) {
        at += sprintf(at, "<a>x");
    }
    refuse(bytes, CLF_FORMAT, "not well-formed");
    at = bytes + sprintf(bytes, "<p>");
    for (int i = 0; i < 20000; i++) {
        at += sprintf(at, "x<b>y</b> <b/> ");
    }
    sprintf(at, "</p>");
    document_check("a.xml", bytes, document_same, bytes);
}

/* An element with too many marks is not translated, and counted; a long sentence is divided between marks. */
static void test_many_marks(void **state)
{
    (void)state;
    char bytes[4096] = "<p>x<q>", *at = bytes + strlen(bytes);
    for (int i = 0; i < 100; i++) {
        at += sprintf(at, "a <b>c</b> ");
    }
    sprintf(at, "</q></p>");
    struct clf_document *document = document_open("a.xml", bytes);
    assert_int_equal(clf_document_count(document), 0);
    assert_string_equal(document_written(document), bytes);
    assert_string_equal(clf_document_warning(document, 0),
                        "a.xml: 1 text not translated, because of more than 64 inline elements");
    clf_document_free(document);
    memmove(bytes + 3, bytes + 7, strlen(bytes + 7) + 1);
    strcpy(strstr(bytes, "</q>"), "</p>");
    document = document_open("a.xml", bytes);
    assert_int_equal(clf_document_count(document), 4);
    document_translate(document, document_shout);
    assert_non_null(strstr(document_written(document), "A <b>C</b> A <b>C</b> </p>"));
    assert_null(clf_document_warning(document, 0));
    clf_document_free(document);
}

/* Text that is not allowed in XML is removed, and "]]>" does not end a section. */
static void test_escapes(void **state)
{
    (void)state;
    struct clf_document *document = document_open("a.xml", "<p>one<q><![CDATA[two]]></q></p>");
    assert_ok(clf_document_set(document, 0, "a\x01 <&> ]]> \xef\xbf\xbf", 14, NULL, 0));
    assert_ok(clf_document_set(document, 1, "b\x1f & ]]> c", 10, NULL, 0));
    const char *written = document_written(document);
    assert_string_equal(written, "<p>a &lt;&amp;&gt; ]]&gt; <q><![CDATA[b & ]]]]><![CDATA[> c]]></q></p>");
    clf_document_free(document);
    clf_document_free(document_open("a.xml", written));
}

static void test_content(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *format;
    } cases[] = {
        {"<?xml version=\"1.0\"?><!-- c --><a/>", "xml"},
        {"<?xml version=\"1.0\"?><!DOCTYPE html><html/>", "xhtml"},
#ifdef CLF_HAS_GUMBO
        {"<!DOCTYPE html><html></html>", "html"},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_document *document = document_open("file", cases[i].bytes);
        assert_string_equal(clf_document_format_of(document)->name, cases[i].format);
        clf_document_free(document);
    }
    struct clf_document *document = document_open("a.xml", "<a>\n<b/>\n <c>\n one</c><d>two\nthree</d></a>");
    assert_int_equal(clf_document_segment_at(document, 0)->line, 4);
    assert_int_equal(clf_document_segment_at(document, 1)->line, 4);
    clf_document_free(document);
}

/* Opens, translates and writes a document; returns CLF_OK or CLF_OUT_OF_MEMORY. */
static clf_status run(const char *bytes)
{
    struct clf_document *document;
    char *written = NULL;
    size_t size;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.format = "xhtml";
    CLF__TRY(clf_document_open(&document, bytes, strlen(bytes), &options));
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < clf_document_count(document); i++) {
        status = clf_document_set(document, i, "Some other words.", 17, NULL, 0);
    }
    status = status == CLF_OK ? clf_document_write(&written, &size, document) : status;
    clf_string_free(written);
    clf_document_free(document);
    return status;
}

static void test_failed_allocations(void **state)
{
    (void)state;
    static const char bytes[] =
        "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" \"x\"><html><p>one <b>two</b> &eacute; "
        "&none;</p><p><![CDATA[three]]></p></html>";
    clf__memory_fail_at(0);
    assert_ok(run(bytes));
    uint64_t all = clf__memory_count();
    for (uint64_t n = 1; n <= all; n++) {
        clf__memory_fail_at(n);
        assert_int_equal(run(bytes), CLF_OUT_OF_MEMORY);
    }
    clf__memory_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_xhtml, support_teardown),
        cmocka_unit_test_teardown(test_marks, support_teardown),
        cmocka_unit_test_teardown(test_lists, support_teardown),
        cmocka_unit_test_teardown(test_malformed, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
        cmocka_unit_test_teardown(test_many_marks, support_teardown),
        cmocka_unit_test_teardown(test_escapes, support_teardown),
        cmocka_unit_test_teardown(test_content, support_teardown),
        cmocka_unit_test_teardown(test_failed_allocations, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without_libxml2(void **state)
{
    (void)state;
    assert_fails(clf__xml_check("<a/>", 4), CLF_UNSUPPORTED, "build clformer with libxml2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_libxml2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
