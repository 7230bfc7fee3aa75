/* Any text as ASS subtitles. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the line breaks, which a translation must not change. */
static int count_lines(const char *bytes, size_t size)
{
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == '\n' || bytes[i] == '\r';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("ass", data, size, count_lines);
    return 0;
}
