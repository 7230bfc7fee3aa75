/* Any text as TMX: as a document and as a translation memory. */
#include "support/support.h"

#include "fuzz/document.h"
#include "translate/documents/xml/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the units, which a translation must not change. */
static int count_units(const char *bytes, size_t size)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    int count = 0;
    while (clf__xml_next(&token, &tokens)) {
        count += clf__xml_is_tag(&token) && clf__xml_is_named(&token, bytes, "tu");
    }
    return count;
}

/* Recalls the texts of a document from the memory. */
static void recall(const struct clf_memory *memory, const char *format, const char *bytes, size_t size)
{
    struct clf_document *document = document_read(format, bytes, size);
    char *written;
    size_t written_size;
    if (document == NULL) {
        return;
    }
    if (clf_document_recall(document, memory, NULL) != CLF_OK ||
        clf_document_write(&written, &written_size, document) != CLF_OK) {
        abort();
    }
    clf_string_free(written);
    clf_document_free(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "[\"one <b>two</b> %s {x}\", \"a\"]";
    struct clf_memory *memory;
    document_fuzz("tmx", data, size, count_units);
    if (clf_memory_open(&memory, data, size, NULL) == CLF_OK) {
        recall(memory, "json", text, sizeof text - 1);
        recall(memory, "tmx", (const char *)data, size);
        clf_memory_free(memory);
    }
    return 0;
}
