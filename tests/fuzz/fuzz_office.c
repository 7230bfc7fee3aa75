/* Any XML as the text of an office document. */
#include "support/support.h"

#include "fuzz/document.h"
#include "support/archive.h"
#include "translate/documents/xml/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef CLF_HAS_LIBZIP

/* Counts the tags that translations must keep: all except those of runs and what is dropped with them. */
static int count_tags(const char *bytes, size_t size)
{
    static const char *const names[] = {"p",           "tab", "br",  "fldChar", "instrText", "hyperlink",
                                        "ins",         "del", "sdt", "delText", "pict",      "bookmarkStart",
                                        "bookmarkEnd", "fld", "pPr", "span",    "s",         "note",
                                        "frame",       NULL};
    struct archive archive = {(char *)bytes, size};
    const char *text = archive_read(&archive, "x");
    text = text != NULL ? text : archive_read(&archive, "content.xml");
    struct clf__xml_tokens tokens = clf__xml_begin(text, strlen(text));
    struct clf__xml_token token;
    int count = 0;
    while (clf__xml_next(&token, &tokens)) {
        for (int i = 0; clf__xml_is_tag(&token) && names[i] != NULL; i++) {
            count += clf__xml_is_named(&token, text, names[i]);
        }
    }
    return count;
}

static void fuzz(const char *format, const struct archive_entry *entries)
{
    struct archive archive = archive_make(entries);
    document_fuzz(format, (const uint8_t *)archive.bytes, archive.size, count_tags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char types[] =
        "<Types><Override PartName=\"x\" ContentType=\".document.main+xml\"/>"
        "<Override PartName=\"x\" ContentType=\".presentationml.slide+xml\"/></Types>";
    char *text = support_array(size + 1, 1);
    memcpy(text, data, size);
    const struct archive_entry office[] = {
        {"[Content_Types].xml", types, 1}, {"x", text, 1}, {NULL, NULL, 0}};
    const struct archive_entry open[] = {{"content.xml", text, 1}, {NULL, NULL, 0}};
    fuzz("docx", office);
    fuzz("pptx", office);
    fuzz("odt", open);
    support_free_all();
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}

#endif
