/* Any bytes as an office document: a damaged archive is refused, at the latest when it is written. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sets all translations. */
static void translate(struct clf_document *document)
{
    for (int i = 0; i < clf_document_count(document); i++) {
        if (clf_document_set(document, i, "Z & <b>", 7, NULL, 0) != CLF_OK) {
            abort();
        }
    }
}

static void fuzz(const char *format, const char *bytes, size_t size)
{
    struct clf_document *document = document_read(format, bytes, size), *again;
    char *written;
    size_t written_size;
    if (document == NULL) {
        return;
    }
    written = document_write_with(&written_size, document, NULL);
    if (written_size != size || memcmp(written, bytes, size) != 0) {
        abort();
    }
    clf_string_free(written);
    translate(document);
    clf_status status = clf_document_write(&written, &written_size, document);
    if (status == CLF_OK) {
        again = document_read(format, written, written_size);
        if (again == NULL) {
            abort();
        }
        clf_document_free(again);
    } else if (status != CLF_FORMAT) {
        abort();
    }
    clf_string_free(written);
    clf_document_free(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"docx", "odt", "pptx", "epub"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        fuzz(formats[i], (const char *)data, size);
    }
    return 0;
}
