/* Any text as WebVTT subtitles. */
#include "fuzz/subtitles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_times(const char *bytes, size_t size)
{
    return document_count_times(bytes, size, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("vtt", data, size, count_times);
    return 0;
}
