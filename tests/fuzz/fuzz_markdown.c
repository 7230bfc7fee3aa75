/* Any text as Markdown. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts code fences and lines of tables, which a translation must not change. */
static int count_fences(const char *bytes, size_t size)
{
    int count = 0;
    for (size_t i = 0; i + 4 <= size; i++) {
        count += memcmp(bytes + i, "\n```", 4) == 0 || memcmp(bytes + i, "\n|--", 4) == 0;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("markdown", data, size, count_fences);
    return 0;
}
