/* Office documents: paragraphs of runs, OpenDocument, EPUB, and hostile archives. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

#ifdef CLF_HAS_LIBZIP

#include "support/archive.h"
#include "translate/documents/format.h"

#define WORD   "application/vnd.openxmlformats-officedocument.wordprocessingml."
#define SLIDES "application/vnd.openxmlformats-officedocument.presentationml."

/* --- Word. --- */

#define WORD_START                                                                                           \
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<w:document "                            \
    "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>"
#define WORD_END "<w:sectPr/></w:body></w:document>"
#define TYPES_START                                                                                          \
    "<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"  \
    "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
#define OVERRIDE(name, type) "<Override PartName=\"" name "\" ContentType=\"" type "\"/>"
static const char word_types[] =
    TYPES_START OVERRIDE("/word/document.xml", WORD "document.main+xml") "</Types>";

static struct archive make_word(const char *body)
{
    size_t size = strlen(WORD_START) + strlen(body) + strlen(WORD_END) + 1;
    char *text = support_array(size, 1);
    const struct archive_entry entries[] = {
        {"[Content_Types].xml", word_types, 0},
        {"word/media/image.bin", "not text", 1},
        {"word/document.xml", text, 0},
        {NULL, NULL, 0},
    };
    snprintf(text, size, "%s%s%s", WORD_START, body, WORD_END);
    return archive_make(entries);
}

/* Returns the body of a written document. */
static const char *body_of(const struct archive *archive)
{
    char *text = archive_read(archive, "word/document.xml");
    assert_memory_equal(text, WORD_START, strlen(WORD_START));
    text[strlen(text) - strlen(WORD_END)] = '\0';
    return text + strlen(WORD_START);
}

enum change { SHOUT, REVERSE };

static void check_word(const char *body, const char *texts, enum change change, const char *expected)
{
    struct archive archive = make_word(body);
    archive_check_same("a.docx", &archive);
    struct clf_document *document = archive_open("a.docx", &archive);
    assert_string_equal(document_texts(document), texts);
    if (change == SHOUT) {
        document_translate(document, document_shout);
    } else {
        document_reverse(document);
    }
    struct archive changed = archive_written(document);
    if (strcmp(body_of(&changed), expected) != 0) {
        fail_msg("%s\nexpected:\n%s\ngot:\n%s", body, expected, body_of(&changed));
    }
    clf_document_free(document);
    clf_document_free(archive_open("a.docx", &changed));
}

#define R(text)  "<w:r><w:t>" text "</w:t></w:r>"
#define S(text)  "<w:r><w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define B        "<w:rPr><w:b/></w:rPr>"
#define RB(text) "<w:r>" B "<w:t>" text "</w:t></w:r>"
#define SB(text) "<w:r>" B "<w:t xml:space=\"preserve\">" text "</w:t></w:r>"

static void test_word(void **state)
{
    (void)state;
    static const struct {
        const char *body, *texts, *shouted;
    } cases[] = {
        {"<w:p>" R("one") "</w:p><w:p/><w:p><w:pPr><w:jc/></w:pPr>" R("two &amp; three") "</w:p>",
         "one|two & three",
         "<w:p>" R("ONE") "</w:p><w:p/><w:p><w:pPr><w:jc/></w:pPr>" R("TWO &amp; THREE") "</w:p>"},
        /* runs with the same properties are one run; languages and the spell checker do not matter */
        {"<w:p><w:r w:rsidR=\"1\"><w:t xml:space=\"preserve\">one </w:t></w:r><w:proofErr "
         "w:type=\"spellStart\"/>"
         "<w:r><w:rPr><w:lang w:val=\"en\"/></w:rPr><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>",
         "one two", "<w:p>" R("ONE TWO") "</w:p>"},
        {"<w:p>" S("one ") RB("two") S(" three") "</w:p>", "one two three",
         "<w:p>" S("ONE ") RB("TWO") S(" THREE") "</w:p>"},
        {"<w:p>" RB("one two") S(" 3") "</w:p>", "one two 3", "<w:p>" SB("ONE TWO ") R("3") "</w:p>"},
        {"<w:p><w:r>" B "<w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/></w:r></w:p>", "one two",
         "<w:p><w:r>" B "<w:t>ONE</w:t><w:tab/><w:t>TWO</w:t><w:br/></w:r></w:p>"},
        {"<w:p>" R("one") "<w:r><w:rPr><w:rStyle w:val=\"F\"/></w:rPr><w:footnoteReference "
                          "w:id=\"1\"/></w:r>" S(" two") "</w:p>",
         "one two",
         "<w:p>" R("ONE") "<w:r><w:rPr><w:rStyle w:val=\"F\"/></w:rPr><w:footnoteReference "
                          "w:id=\"1\"/></w:r>" S(" TWO") "</w:p>"},
        {"<w:p>" S("see ") "<w:hyperlink w:id=\"1\">" RB("the page") "</w:hyperlink>" R(".") "</w:p>",
         "see the page.",
         "<w:p>" S("SEE ") "<w:hyperlink w:id=\"1\">" RB("THE PAGE") "</w:hyperlink>" R(".") "</w:p>"},
        {"<w:p><w:hyperlink w:id=\"1\">" RB("page") "</w:hyperlink></w:p>", "page",
         "<w:p><w:hyperlink w:id=\"1\">" RB("PAGE") "</w:hyperlink></w:p>"},
        /* tracked changes */
        {"<w:p>" S("one ") "<w:ins w:id=\"1\">" S("two ") "</w:ins><w:del w:id=\"2\"><w:r><w:delText>gone"
                                                          "</w:delText></w:r></w:del>" R("three") "</w:p>",
         "one two three",
         "<w:p>" S("ONE ") "<w:ins w:id=\"1\">" R("TWO") "</w:ins>" S(
             " ") "<w:del w:id=\"2\"><w:r><w:delText>gone</w:delText></w:r></w:del>" R("THREE") "</w:p>"},
        {"<w:p><w:bookmarkStart w:id=\"0\"/>" R("one") "<w:bookmarkEnd w:id=\"0\"/>" S(" two") "</w:p>",
         "one two",
         "<w:p><w:bookmarkStart w:id=\"0\"/>" R("ONE") "<w:bookmarkEnd w:id=\"0\"/>" S(" TWO") "</w:p>"},
        /* content controls, in a line and around paragraphs */
        {"<w:p>" S("one ") "<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>" R(
             "two") "</w:sdtContent></w:sdt></w:p>"
                    "<w:sdt><w:sdtContent><w:p>" R("three") "</w:p></w:sdtContent></w:sdt>",
         "one two|three",
         "<w:p>" S("ONE ") "<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>" R(
             "TWO") "</w:sdtContent></w:sdt></w:p>"
                    "<w:sdt><w:sdtContent><w:p>" R("THREE") "</w:p></w:sdtContent></w:sdt>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_word(cases[i].body, cases[i].texts, SHOUT, cases[i].shouted);
    }
}

#define BEGIN(id) "<w:bookmarkStart w:id=\"" id "\"/>"
#define END(id)   "<w:bookmarkEnd w:id=\"" id "\"/>"

/* Marks move with their words; bookmarks stay in order. */
static void test_word_order(void **state)
{
    (void)state;
    check_word("<w:p>" S("one ") RB("two") S(" three") "</w:p>", "one two three", REVERSE,
               "<w:p>" S("three ") RB("two") S(" one") "</w:p>");
    check_word("<w:p>" BEGIN("0") S("one ") END("0") S("two ") BEGIN("1") R("three") END("1")
                   S(" four") "</w:p>",
               "one two three four", REVERSE,
               "<w:p>" BEGIN("0") R("four three two one") END("0") BEGIN("1") END("1") "</w:p>");
}

/* Terms that are not translated, among marks with other properties and marks without content. */
static void test_terms(void **state)
{
    (void)state;
    struct archive archive = make_word("<w:p>" S("use clformer now and ") RB("GNU") S(
        " Linux ") "<w:r>" B
                   "<w:t>too</w:t><w:tab/><w:t>daily</w:t></w:r></w:p><w:p>" R("GNU Linux") "</w:p>");
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.docx";
    options.kept_terms = "clformer\nGNU\nLinux\n";
    struct clf_document *document = document_open_with(&options, archive.bytes, archive.size);
    document_translate(document, document_shout);
    struct archive changed = archive_written(document);
    assert_string_equal(
        body_of(&changed),
        "<w:p>" S("USE clformer NOW AND ") RB("GNU")
            S(" Linux ") "<w:r>" B
                         "<w:t>TOO</w:t><w:tab/><w:t>DAILY</w:t></w:r></w:p><w:p>" R("GNU Linux") "</w:p>");
    clf_document_free(document);
    clf_document_free(archive_open("a.docx", &changed));
}

#define FIELD(kind) "<w:r><w:fldChar w:fldCharType=\"" kind "\"/></w:r>"
#define CODE        "<w:r><w:instrText> HYPERLINK x </w:instrText></w:r>"

static void test_fields(void **state)
{
    (void)state;
    check_word("<w:p>" S("see ") FIELD("begin") CODE FIELD("separate") RB("the page") FIELD("end")
                   S(" now") "</w:p>",
               "see the page now", SHOUT,
               "<w:p>" S("SEE ") FIELD("begin") CODE FIELD("separate") RB("THE PAGE") FIELD("end")
                   S(" NOW") "</w:p>");
    check_word("<w:p>" S("page ") FIELD("begin") CODE FIELD("end") S(" of") "</w:p>", "page of", SHOUT,
               "<w:p>" S("PAGE ") FIELD("begin") CODE FIELD("end") S(" OF") "</w:p>");
    check_word(
        "<w:p>" FIELD("begin") CODE FIELD("end") S(" pages, ") FIELD("begin") CODE FIELD("end") "</w:p>",
        "pages,", SHOUT,
        "<w:p>" FIELD("begin") CODE FIELD("end") S(" PAGES, ") FIELD("begin") CODE FIELD("end") "</w:p>");
    /* a field over several paragraphs divides their sentences */
    check_word("<w:p>" S("one ") FIELD("begin") CODE FIELD("separate") R("two") "</w:p><w:p>" R("three")
                   FIELD("end") R("four") "</w:p>",
               "one|two|three|four", SHOUT,
               "<w:p>" S("ONE ") FIELD("begin") CODE FIELD("separate") R("TWO") "</w:p><w:p>" R("THREE")
                   FIELD("end") R("FOUR") "</w:p>");
}

/* A run with a part of a field that is not complete is kept, and so is a text with an element, which no
 * program writes. */
static void test_divided_runs(void **state)
{
    (void)state;
#define BEGINS "<w:fldChar w:fldCharType=\"begin\"/>"
    check_word("<w:p>" S("one ") "<w:r><w:t>two</w:t>" BEGINS "<w:t>three</w:t></w:r>" S(" four") "</w:p>",
               "one|four", SHOUT,
               "<w:p>" S("ONE ") "<w:r><w:t>two</w:t>" BEGINS "<w:t>three</w:t></w:r>" S(" FOUR") "</w:p>");
    check_word("<w:p>" R("one<w:x><w:p>" R("two") "</w:p></w:x>three") S(" four") "</w:p>", "four", SHOUT,
               "<w:p>" R("one<w:x><w:p>" R("two") "</w:p></w:x>three") S(" FOUR") "</w:p>");
    struct archive archive = make_word("<w:p><w:r><w:t>two</w:t>" BEGINS "</w:r></w:p>");
    struct clf_document *document = archive_open("a.docx", &archive);
    archive_written(document);
    assert_string_equal(clf_document_warning(document, 0),
                        "a.docx: 1 text not translated, because a run also contains a part of a field");
    clf_document_free(document);
}

/* A sentence with too many marks is divided between runs; a link with too many is not translated. */
static void test_many_marks(void **state)
{
    (void)state;
    char *body = support_array(1 << 16, 1), *at = body + sprintf(body, "<w:p>");
    for (int i = 0; i < 100; i++) {
        at += sprintf(at, "%s", S("one ") RB("two"));
    }
    sprintf(at, "</w:p>");
    struct archive archive = make_word(body);
    archive_check_same("a.docx", &archive);
    struct clf_document *document = archive_open("a.docx", &archive);
    assert_int_equal(clf_document_count(document), 2);
    document_translate(document, document_shout);
    struct archive changed = archive_written(document);
    assert_null(strstr(body_of(&changed), "two"));
    assert_null(clf_document_warning(document, 0));
    clf_document_free(document);
    memmove(body + 19, body + 5, strlen(body + 5) + 1);
    memcpy(body, "<w:p><w:hyperlink>", 18);
    body[18] = ' ';
    strcpy(strstr(body, "</w:p>"), "</w:hyperlink></w:p>");
    archive = make_word(body);
    document = archive_open("a.docx", &archive);
    assert_int_equal(clf_document_count(document), 0);
    archive_written(document);
    assert_string_equal(clf_document_warning(document, 0),
                        "a.docx: 1 text not translated, because of more than 64 inline elements");
    clf_document_free(document);
}

/* The text of a box is translated, whether or not the paragraph around it changes. */
static void test_boxes(void **state)
{
    (void)state;
#define PICTURE(text) "<w:pict><w:txbxContent><w:p>" R(text) "</w:p></w:txbxContent></w:pict>"
#define BOX(text)     "<w:r>" PICTURE(text) "</w:r>"
    check_word("<w:p>" BOX("in") R("one") BOX("mid") S(" two") BOX("12") "</w:p>", "in|one two|mid", SHOUT,
               "<w:p>" BOX("IN") "<w:r><w:t>ONE</w:t>" PICTURE(
                   "MID") "<w:t xml:space=\"preserve\"> TWO</w:t></w:r>" BOX("12") "</w:p>");
    struct archive archive = make_word("<w:p>" R("one") BOX("mid") S(" two") "</w:p>");
    struct clf_document *document = archive_open("a.docx", &archive);
    assert_ok(clf_document_set(document, 1, "MID", 3, NULL, 0));
    struct archive changed = archive_written(document);
    assert_string_equal(body_of(&changed), "<w:p>" R("one") BOX("MID") S(" two") "</w:p>");
    clf_document_free(document);
}

/* All parts with text are translated; the others keep their compressed bytes. */
static void test_parts(void **state)
{
    (void)state;
#define PART(root, text)                                                                                     \
    "<x:" root " xmlns:x=\"http://purl.oclc.org/ooxml/wordprocessingml/main\"><x:p><x:r><x:t>" text          \
    "</x:t></x:r></x:p></x:" root ">"
    static const struct archive_entry entries[] = {
        {"[Content_Types].xml",
         TYPES_START OVERRIDE("/word/footnotes.xml", WORD "footnotes+xml")
             OVERRIDE("/word/header1.xml", WORD "header+xml") OVERRIDE("/word/styles.xml", WORD "styles+xml")
                 OVERRIDE("/word/document.xml", WORD "document.main+xml")
                     OVERRIDE("/word/comments.xml", WORD "comments+xml") "</Types>",
         0},
        {"word/styles.xml", PART("styles", "style style style style style style style"), 0},
        {"word/footnotes.xml", PART("footnotes", "note"), 0},
        {"word/document.xml", PART("document", "body"), 1},
        {"word/header1.xml", PART("hdr", "head"), 0},
        {NULL, NULL, 0},
    };
    struct archive archive = archive_make(entries);
    archive_check_same("a.docx", &archive);
    struct clf_document *document = archive_open("a.docx", &archive);
    assert_string_equal(document_texts(document), "body|head|note");
    assert_ok(clf_document_set(document, 0, "BODY", 4, NULL, 0));
    struct archive changed = archive_written(document), again = archive_written(document);
    assert_int_equal(changed.size, again.size);
    assert_memory_equal(changed.bytes, again.bytes, changed.size);
    assert_string_equal(archive_read(&changed, "word/document.xml"), PART("document", "BODY"));
    assert_int_equal(archive_check_changed(&archive, &changed), 1);
    clf_document_free(document);
}

/* --- Hostile archives. --- */

static void refuse(const char *name, const char *bytes, size_t size, clf_status status, const char *part)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    assert_fails(clf_document_open(&document, bytes, size, &options), status, part);
    assert_null(document);
}

static void refuse_entries(const char *name, const struct archive_entry *entries, clf_status status,
                           const char *part)
{
    struct archive archive = archive_make(entries);
    refuse(name, archive.bytes, archive.size, status, part);
}

static void test_hostile(void **state)
{
    (void)state;
    refuse("a.docx", "", 0, CLF_FORMAT, "a.docx: is empty");
    refuse("a.docx", "text", 4, CLF_FORMAT, "a.docx: is not a zip archive, or is damaged");
    refuse("a.docx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, CLF_FORMAT, "protected by a password");
    refuse_entries("a.docx", (struct archive_entry[]){{"x", "y", 0}, {NULL, NULL, 0}}, CLF_FORMAT,
                   "a.docx: [Content_Types].xml: is missing");
    refuse_entries("a.pptx",
                   (struct archive_entry[]){{"[Content_Types].xml", word_types, 0}, {NULL, NULL, 0}},
                   CLF_FORMAT, "contains no text of this format");
    refuse_entries("a.docx",
                   (struct archive_entry[]){{"[Content_Types].xml", word_types, 0},
                                            {"word/document.xml", "<a>", 0},
                                            {NULL, NULL, 0}},
                   CLF_FORMAT, "a.docx: word/document.xml: line 1: is not well-formed XML");
    refuse_entries("a.docx",
                   (struct archive_entry[]){{"[Content_Types].xml", word_types, 0},
                                            {"word/document.xml", "<a>\xff</a>", 0},
                                            {NULL, NULL, 0}},
                   CLF_TEXT, "word/document.xml: is not UTF-8");
    char *large = support_array((8 << 20) + 1, 1); /* a zip bomb */
    memset(large, ' ', 8 << 20);
    refuse_entries(
        "a.docx",
        (struct archive_entry[]){
            {"[Content_Types].xml", word_types, 0}, {"word/document.xml", large, 0}, {NULL, NULL, 0}},
        CLF_UNSUPPORTED, "word/document.xml: is more than 200 times larger than in the zip archive");
    struct archive archive = archive_make((struct archive_entry[]){
        {"[Content_Types].xml", word_types, 1}, {"word/document.xml", "<a/>", 1}, {NULL, NULL, 0}});
    size_t last =
        archive.size - strlen("word/document.xml") - 22 - 26; /* size of the last entry in the directory */
    assert_int_equal(archive.bytes[last], 4);
    archive.bytes[last + 1] = 16; /* it overlaps the others */
    refuse("a.docx", archive.bytes, archive.size, CLF_FORMAT,
           "a.docx: the zip archive is damaged: entries overlap");
    archive = make_word("<w:p>" R("one") "</w:p>");
    for (size_t size = 0; size < archive.size; size++) {
        struct clf_document *document;
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = "a.docx";
        if (clf_document_open(&document, archive.bytes, size, &options) == CLF_OK) {
            fail_msg("the first %zu bytes of an archive were opened", size);
        }
    }
    char *text = archive.bytes + clf__text_find(archive.bytes, archive.size, 0, "word/document.xml", 17);
    text[60] ^= 1; /* the compressed bytes */
    refuse("a.docx", archive.bytes, archive.size, CLF_FORMAT, "a.docx: word/document.xml: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_word, support_teardown),
        cmocka_unit_test_teardown(test_word_order, support_teardown),
        cmocka_unit_test_teardown(test_terms, support_teardown),
        cmocka_unit_test_teardown(test_fields, support_teardown),
        cmocka_unit_test_teardown(test_divided_runs, support_teardown),
        cmocka_unit_test_teardown(test_many_marks, support_teardown),
        cmocka_unit_test_teardown(test_boxes, support_teardown),
        cmocka_unit_test_teardown(test_parts, support_teardown),
        cmocka_unit_test_teardown(test_hostile, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without_libzip(void **state)
{
    (void)state;
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "a.docx";
    assert_fails(clf_document_open(&document, "PK\3\4", 4, &options), CLF_UNSUPPORTED,
                 "the format is unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_libzip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
