/* Any XML as the text of an office document. */
#include "support/support.h"

#include "fuzz/document.h"
#include "support/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef CLF_HAS_LIBZIP

static int count_nothing(const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return 0;
}

static void fuzz(const char *format, const struct archive_entry *entries)
{
    struct archive archive = archive_make(entries);
    document_fuzz(format, (const uint8_t *)archive.bytes, archive.size, count_nothing);
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
