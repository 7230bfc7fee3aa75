/* Any text as Markdown. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the texts, which a translation must not change: it begins no block and ends none. */
static int count_texts(const char *bytes, size_t size)
{
    struct clf_document *document = document_read("markdown", bytes, size);
    int count = document != NULL ? clf_document_count(document) : -1;
    clf_document_free(document);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("markdown", data, size, count_texts);
    return 0;
}
