/* PowerPoint, OpenDocument and EPUB, and documents that other programs wrote (tests/fixtures/documents). */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "support/documents.h"

#ifdef CLF_HAS_LIBZIP

#include "base/file.h"
#include "base/memory.h"
#include "support/archive.h"

/* Checks the texts of an archive, and the content of an entry after its translation to upper case. */
static void check(const char *name, const struct archive_entry *entries, const char *texts, const char *entry,
                  const char *expected)
{
    struct archive archive = archive_make(entries);
    archive_check_same(name, &archive);
    struct clf_document *document = archive_open(name, &archive);
    assert_string_equal(document_texts(document), texts);
    document_translate(document, document_shout);
    struct archive changed = archive_written(document);
    assert_string_equal(archive_read(&changed, entry), expected);
    assert_true(archive_check_changed(&archive, &changed) > 0);
    clf_document_free(document);
}

#define SLIDE_START                                                                                          \
    "<p:sld xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" xmlns:p=\"p\"><p:txBody>"
#define SLIDE_END  "</p:txBody></p:sld>"
#define SLIDES     "application/vnd.openxmlformats-officedocument.presentationml."
#define AR(text)   "<a:r><a:t>" text "</a:t></a:r>"
#define BOLD(text) "<a:r><a:rPr b=\"1\"/><a:t>" text "</a:t></a:r>"

static void test_slides(void **state)
{
    (void)state;
    static const char types[] =
        "<Types><Override PartName=\"/ppt/slides/slide10.xml\" ContentType=\"" SLIDES
        "slide+xml\"/><Override PartName=\"/ppt/slides/slide2.xml\" ContentType=\"" SLIDES
        "slide+xml\"/><Override PartName=\"/ppt/notes.xml\" ContentType=\"" SLIDES
        "notesSlide+xml\"/></Types>";
    const struct archive_entry entries[] = {
        {"[Content_Types].xml", types, 0},
        {"ppt/slides/slide10.xml", SLIDE_START "<a:p>" AR("ten") "</a:p>" SLIDE_END, 0},
        {"ppt/slides/slide2.xml",
         SLIDE_START "<a:p><a:pPr/><a:r><a:rPr lang=\"fr\" dirty=\"0\"/><a:t>one </a:t></a:r>" BOLD("two")
             AR(" three") "<a:br/>" AR("four") "<a:fld type=\"slidenum\"><a:t>5</a:t></a:fld>" AR(
                 " six") "<a:endParaRPr lang=\"fr\"/></a:p>" SLIDE_END,
         0},
        {"ppt/notes.xml", SLIDE_START "<a:p>" AR("note") "</a:p>" SLIDE_END, 0},
        {NULL, NULL, 0},
    };
    check("a.pptx", entries, "one two three four six|ten|note", "ppt/slides/slide2.xml",
          SLIDE_START "<a:p><a:pPr/><a:r><a:rPr lang=\"fr\" dirty=\"0\"/><a:t>ONE </a:t></a:r>" BOLD(
              "TWO") "<a:r><a:rPr lang=\"fr\" dirty=\"0\"/><a:t> THREE</a:t></a:r><a:br/>"
                     "<a:r><a:rPr lang=\"fr\" dirty=\"0\"/><a:t>FOUR</a:t></a:r>"
                     "<a:fld type=\"slidenum\"><a:t>5</a:t></a:fld>"
                     "<a:r><a:rPr lang=\"fr\" dirty=\"0\"/><a:t> SIX</a:t></a:r>"
                     "<a:endParaRPr lang=\"fr\"/></a:p>" SLIDE_END);
}

static void test_opendocument(void **state)
{
    (void)state;
#define P(text) "<text:p>" text "</text:p>"
    const struct archive_entry entries[] = {
        {"mimetype", "application/vnd.oasis.opendocument.text", 1},
        {"content.xml",
         "<d><text:tracked-changes>" P(
             "gone") "</text:tracked-changes><meta>no</meta><text:h>title</"
                     "text:h>" P("one <text:span>two</text:span><text:s "
                                 "text:c=\"2\"/>three<text:note><text:note-citation>x"
                                 "</text:note-citation><text:note-body>" P(
                                     "note <text:span>four</text:span>") "</text:note-body>"
                                                                         "</text:note> "
                                                                         "five<text:page-"
                                                                         "number>6</"
                                                                         "text:page-"
                                                                         "number>")
                         P("<draw:frame><draw:text-box>" P("box") "</draw:text-box></draw:frame>") "</d>",
         0},
        {"styles.xml", "<s><style:header>" P("header") "</style:header></s>", 0},
        {"meta.xml", "<m>meta</m>", 0},
        {NULL, NULL, 0},
    };
    check("a.odt", entries, "title|one two three five|note four|box|header", "content.xml",
          "<d><text:tracked-changes>" P(
              "gone") "</text:tracked-changes><meta>no</meta><text:h>TITLE</"
                      "text:h>" P("ONE <text:span>TWO</text:span> <text:s "
                                  "text:c=\"2\"/>THREE<text:note><text:note-citation>x"
                                  "</text:note-citation><text:note-body>" P(
                                      "NOTE <text:span>FOUR</text:span>") "</text:note-body>"
                                                                          "</text:note> "
                                                                          "FIVE<text:page-"
                                                                          "number>6</"
                                                                          "text:page-number>")
                          P("<draw:frame><draw:text-box>" P("BOX") "</draw:text-box></draw:frame>") "</d>");
    struct archive archive = archive_make(entries);
    struct clf_document *document = archive_open("file", &archive); /* recognised by its content */
    assert_string_equal(clf_document_format_of(document)->name, "odt");
    clf_document_free(document);
    const struct archive_entry changes[] = {
        {"content.xml", P("one <text:change-start/>two<text:change-end/> three <text:bookmark-start/>four"),
         0},
        {NULL, NULL, 0}};
    archive = archive_make(changes);
    document = archive_open("a.odt", &archive);
    document_reverse(document);
    struct archive changed = archive_written(document);
    assert_string_equal(
        archive_read(&changed, "content.xml"),
        P("four three two one <text:change-start/><text:change-end/> <text:bookmark-start/>"));
    clf_document_free(document);
}

#define BOOK_CONTAINER                                                                                       \
    "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>"
#define BOOK_PACKAGE                                                                                         \
    "<package><metadata><dc:title xmlns:dc=\"d\">Title</dc:title></metadata><manifest>"                      \
    "<item id=\"n\" href=\"toc.ncx\" media-type=\"application/x-dtbncx+xml\"/>"                              \
    "<item id=\"a\" href=\"text/chapter%201.xhtml\" media-type=\"application/xhtml+xml\"/>"                  \
    "<item id=\"b\" href=\"./text/../b.xhtml#x\" media-type=\"application/xhtml+xml\"/>"                     \
    "<item id=\"c\" href=\"../../../c.xhtml\" media-type=\"application/xhtml+xml\"/>"                        \
    "<item id=\"d\" href=\"missing.xhtml\" media-type=\"application/xhtml+xml\"/></manifest>"                \
    "<spine toc=\"n\"><itemref idref=\"b\"/><itemref idref=\"a\"/><itemref idref=\"a\"/></spine></package>"

static void test_book(void **state)
{
    (void)state;
    struct archive_entry entries[] = {
        {"mimetype", "application/epub+zip", 1},
        {"META-INF/container.xml", BOOK_CONTAINER, 0},
        {"OEBPS/book.opf", BOOK_PACKAGE, 0},
        {"OEBPS/text/chapter 1.xhtml", "<html><body><p>first <b>chapter</b></p></body></html>", 0},
        {"OEBPS/b.xhtml", "<html><head><title>second</title></head></html>", 0},
        {"c.xhtml", "<html>third</html>", 0},
        {"OEBPS/toc.ncx", "<ncx><docTitle><text>book</text></docTitle><x>no</x></ncx>", 0},
        {NULL, NULL, 0},
        {NULL, NULL, 0},
    };
    check("a.epub", entries, "second|first chapter|third|book", "OEBPS/toc.ncx",
          "<ncx><docTitle><text>BOOK</text></docTitle><x>no</x></ncx>");
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.format = "epub";
    entries[7] = (struct archive_entry){"META-INF/encryption.xml", "<e><x URI=\"OEBPS/b.xhtml\"/></e>", 0};
    entries[4].content = "\x01\x02";
    struct archive archive = archive_make(entries);
    assert_fails(clf_document_open(&document, archive.bytes, archive.size, &options), CLF_FORMAT,
                 "OEBPS/b.xhtml: is encrypted");
    char *package = support_array(4 << 20, 1); /* more documents than an archive may have */
    size_t size = (size_t)sprintf(package, "<package>");
    for (int i = 0; i <= 20000; i++) {
        size += (size_t)sprintf(
            package + size, "<item id=\"%d\" href=\"%d.xhtml\" media-type=\"application/xhtml+xml\"/>", i, i);
    }
    strcpy(package + size, "</package>");
    entries[2].content = package;
    archive = archive_make(entries);
    assert_fails(clf_document_open(&document, archive.bytes, archive.size, &options), CLF_UNSUPPORTED,
                 "OEBPS/book.opf: lists more than 20000 documents; divide the book");
    entries[1].content = "<container/>";
    archive = archive_make(entries);
    assert_fails(clf_document_open(&document, archive.bytes, archive.size, &options), CLF_FORMAT,
                 "META-INF/container.xml: names no package document");
    options.format = "odt";
    static const struct archive_entry locked[] = {
        {"META-INF/manifest.xml", "<m><manifest:encryption-data/></m>", 0},
        {"content.xml", "\x01\x02", 0},
        {NULL, NULL, 0}};
    archive = archive_make(locked);
    assert_fails(clf_document_open(&document, archive.bytes, archive.size, &options), CLF_FORMAT,
                 "is protected by a password");
}

/* Opens, translates and writes a document; returns CLF_OK or CLF_OUT_OF_MEMORY. */
static clf_status run(const char *name, const struct archive *archive)
{
    struct clf_document *document;
    char *bytes = NULL;
    size_t size;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = name;
    CLF__TRY(clf_document_open(&document, archive->bytes, archive->size, &options));
    clf_status status = CLF_OK;
    for (int i = 0; i < clf_document_count(document) && status == CLF_OK; i++) {
        status = clf_document_set(document, i, "Some other words.", 17, NULL, 0);
    }
    status = status == CLF_OK ? clf_document_write(&bytes, &size, document) : status;
    clf_string_free(bytes);
    clf_document_free(document);
    return status;
}

static struct archive read_file(const char *name)
{
    struct archive archive;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/fixtures/documents/%s", CLF_SOURCE_FOLDER, name);
    assert_ok(clf__file_read(&archive.bytes, &archive.size, path, 1 << 20));
    return archive;
}

static void test_failed_allocations(void **state)
{
    (void)state;
    static const char *const names[] = {"libreoffice.docx", "odfpy.odt", "ebooklib.epub"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct archive archive = read_file(names[i]);
        clf__memory_fail_at(0);
        assert_ok(run(names[i], &archive));
        uint64_t all = clf__memory_count(), step = support_small() ? 7 : 1;
        for (uint64_t n = 1; n <= all; n += step) {
            clf__memory_fail_at(n);
            assert_int_equal(run(names[i], &archive), CLF_OUT_OF_MEMORY);
        }
        clf__memory_fail_at(0);
        clf__free(archive.bytes);
    }
}

static void check_file(const char *name, const char *texts)
{
    struct archive archive = read_file(name);
    archive_check_same(name, &archive);
    struct clf_document *document = archive_open(name, &archive);
    if (strcmp(document_texts(document), texts) != 0) {
        fail_msg("%s:\nexpected:\n%s\ngot:\n%s", name, texts, document_texts(document));
    }
    int count = clf_document_count(document);
    document_translate(document, document_shout);
    struct archive changed = archive_written(document);
    assert_true(archive_check_changed(&archive, &changed) > 0);
    struct clf_document *again = archive_open(name, &changed);
    assert_int_equal(clf_document_count(again), count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(clf_document_segment_at(again, i)->text,
                            clf_document_segment_at(document, i)->translation);
        assert_int_equal(clf_document_segment_at(again, i)->mark_count,
                         clf_document_segment_at(document, i)->mark_count);
    }
    clf_document_free(again);
    document_reverse(document);
    changed = archive_written(document);
    again = archive_open(name, &changed);
    assert_int_equal(clf_document_count(again), count);
    clf_document_free(again);
    clf_document_free(document);
    clf__free(archive.bytes);
}

static void test_files(void **state)
{
    (void)state;
#define SICK "Je suis tr\xc3\xa8s malade aujourd'hui."
#define PAGE                                                                                                 \
    " Voir la page du m\xc3\xa9"                                                                             \
    "decin."
#define TITLE "Une petite lettre|"
#define POINT "|Premier point"
#define NOTE  "Une note de bas de page."
#define SHOW                                                                                                 \
    "Le titre|Un point important|Je suis tr\xc3\xa8s content.|Une ligne une autre|Ville|"                    \
    "Des notes pour l'orateur"
#define REST POINT "|Ville|Lettre du jour|Pied de page"
    check_file("python-docx.docx", TITLE SICK PAGE "|Un deux trois & quatre" REST "|Est-ce grave ?");
    check_file("libreoffice.docx", TITLE SICK " Oui." PAGE POINT "|" NOTE);
    check_file("pandoc.docx", TITLE SICK " Oui." PAGE POINT "|" NOTE);
    check_file("odfpy.odt", TITLE SICK " Oui." PAGE "|" NOTE POINT);
    check_file("pandoc.odt", TITLE SICK " Oui." PAGE "|" NOTE POINT);
    check_file("libreoffice.odt", TITLE SICK PAGE "|Est-ce grave ?|Un deux trois & quatre" REST);
    check_file("python-pptx.pptx", SHOW);
    check_file("libreoffice.pptx", SICK " Oui.");
    check_file("libreoffice.odp", SHOW);
    check_file("odfpy.odp", SICK " Oui.");
    check_file("pandoc.epub",
               "UNTITLED|ch001.xhtml|" TITLE "Je suis tr\xc3\xa8s malade aujourd'hui. Oui.1 Voir la page|"
               "du m\xc3\xa9"
               "decin." POINT "|" NOTE "\xe2\x86\xa9\xef\xb8\x8e|libreoffice|UNTITLED|" TITLE
               "Title Page|UNTITLED|Une petite lettre");
    check_file("ebooklib.epub",
               "Un livre|Un livre|Chapitre 1|Chapitre 2|Chapitre 1|D\xc3\xa9"
               "but|Je suis tr\xc3\xa8s "
               "malade.|Oui & non.|Chapitre 2|Fin|Merci beaucoup.|Un livre|Chapitre 1|Chapitre 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_slides, support_teardown),
        cmocka_unit_test_teardown(test_opendocument, support_teardown),
        cmocka_unit_test_teardown(test_book, support_teardown),
        cmocka_unit_test_teardown(test_files, support_teardown),
        cmocka_unit_test_teardown(test_failed_allocations, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without_libzip(void **state)
{
    (void)state;
    for (int i = 0; clf_document_format_at(i) != NULL; i++) {
        assert_string_not_equal(clf_document_format_at(i)->name, "epub");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_libzip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
