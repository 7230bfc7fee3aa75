/* Any bytes as an office document: a damaged archive is refused, and a document that can be read can be
 * written. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_nothing(const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"docx", "odt", "pptx", "epub"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        document_fuzz(formats[i], data, size, count_nothing);
    }
    return 0;
}
