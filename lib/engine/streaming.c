/* Streaming of growing translations. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "engine/internal.h"

static int is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Returns how much of a growing text is certain: later tokens may change the last word, and an incomplete
 * character (U+FFFD so far). Scripts without spaces (from U+2E80) have words of one character. */
static size_t certain_size(const char *text)
{
    size_t size = strlen(text);
    while (size >= 3 && memcmp(text + size - 3, "\xef\xbf\xbd", 3) == 0) {
        size -= 3;
    }
    size_t last = size > 0 ? clf__utf8_cut(text, size - 1) : 0;
    if (size - last >= 3 && strncmp(text + last, "\xe2\xba\x80", 3) >= 0) {
        return size;
    }
    while (size > 0 && !is_space(text[size - 1])) {
        size--;
    }
    while (size > 0 && is_space(text[size - 1])) {
        size--;
    }
    return size;
}

static size_t common_size(const char *a, const char *b, size_t most)
{
    size_t size = 0;
    while (size < most && a[size] == b[size]) {
        size++;
    }
    return size;
}

/* Gives text to the thread that waits for the line's job. */
static clf_status emit(const struct clf__unit *unit, const char *text, size_t size)
{
    struct clf__part *part;
    CLF__TRY(clf__allocate(&part, 1, sizeof *part));
    clf_status status = clf__copy_bytes(&part->text, text, size);
    if (status != CLF_OK) {
        clf__free(part);
        return status;
    }
    part->size = size;
    part->line = unit->number;
    clf__job_stream(unit->job, part);
    return CLF_OK;
}

clf_status clf__unit_stream(struct clf__unit *unit, const char *text, int is_whole)
{
    struct clf__streamed *streamed = &unit->streamed;
    size_t size = is_whole ? strlen(text) : certain_size(text);
    size_t same = common_size(streamed->text != NULL ? streamed->text : "", text, streamed->size);
    if (same < streamed->size &&
        is_whole) { /* possible after numbers in Czech text (text/tokenizers/moses/joiner.c) */
        clf__log(CLF_LOG_WARNING, "line %d: its last tokens changed text that was already streamed",
                 unit->number + 1);
    } else if (same < streamed->size || size <= streamed->size) {
        return CLF_OK;
    }
    size_t more = size > streamed->size ? size - streamed->size : 0, from = streamed->size;
    clf__free(streamed->text);
    streamed->size = 0;
    CLF__TRY(clf__copy_bytes(&streamed->text, text, size));
    streamed->size = size;
    return more > 0 ? emit(unit, text + from, more) : CLF_OK;
}
