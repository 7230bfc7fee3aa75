/* Counts the lines of times of subtitles, which a translation must not change. */
#ifndef CLF_TESTS_FUZZ_SUBTITLES_H
#define CLF_TESTS_FUZZ_SUBTITLES_H

#include "fuzz/document.h"
#include "support/support.h"
#include "translate/documents/subtitles/subtitles.h"

/* @param needs_hours as for clf__cue_times(). */
static inline int document_count_times(const char *bytes, size_t size, int needs_hours)
{
    struct clf__text_line line = {.next = clf__utf8_mark(bytes, size)};
    int count = 0;
    while (clf__text_line_next(&line, bytes, size)) {
        double from, to;
        count += clf__cue_times(&from, &to, bytes + line.start, line.end - line.start, needs_hours);
    }
    return count;
}

#endif
