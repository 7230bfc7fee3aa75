/* Any text as JSON of strings. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the quotation marks that are not escaped: those around strings. */
static int count_strings(const char *bytes, size_t size)
{
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == '"';
        i += bytes[i] == '\\';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("json", data, size, count_strings);
    return 0;
}
