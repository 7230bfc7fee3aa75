/* Any text as gettext PO. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_lines(const char *bytes, size_t size)
{
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == '\n';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("po", data, size, count_lines);
    return 0;
}
