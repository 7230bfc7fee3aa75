/* Any text as gettext PO. */
#include "support/support.h"

#include "fuzz/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts the lines other than strings: a translation replaces all strings of its literal by one. */
static int count_lines(const char *bytes, size_t size)
{
    int count = 0, begins = 1;
    for (size_t i = 0; i < size; i++) {
        int is_space = bytes[i] == ' ' || bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n';
        count += begins && !is_space && bytes[i] != '"';
        begins = bytes[i] == '\n' || (begins && is_space);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("po", data, size, count_lines);
    return 0;
}
