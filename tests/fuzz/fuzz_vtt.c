/* Any text as WebVTT subtitles. */
#include "support/support.h"

#include "fuzz/document.h"
#include "translate/documents/subtitles/subtitles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_times(const char *bytes, size_t size)
{
    struct clf__text_line line = {.next = clf__document_mark(bytes, size)};
    int count = 0;
    while (clf__text_line_next(&line, bytes, size)) {
        double from, to;
        count += clf__cue_times(&from, &to, bytes + line.start, line.end - line.start, 0);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document_fuzz("vtt", data, size, count_times);
    return 0;
}
