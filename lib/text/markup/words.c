#include "text/markup/words.h"

#include <string.h>

#include "base/memory.h"

/* Returns the bytes of the character at a position. */
static size_t character_size(const char *text, size_t size, size_t at)
{
    size_t end = at + 1;
    while (end < size && ((unsigned char)text[end] & 0xc0) == 0x80) {
        end++;
    }
    return end - at;
}

static int is_space(const char *text, size_t bytes)
{
    return (bytes == 1 && strchr(" \t\n\v\f\r", *text) != NULL && *text != '\0') ||
           (bytes == 2 && memcmp(text, "\xc2\xa0", 2) == 0) ||
           (bytes == 3 && (memcmp(text, "\xe2\x80\xaf", 3) == 0 || memcmp(text, "\xe3\x80\x80", 3) == 0));
}

/* Marks and characters that are words of their own. Scripts without spaces begin at U+2E80; U+2010 to U+206F
 * are marks. */
static int is_alone(const char *text, size_t bytes)
{
    if (bytes == 1) {
        return strchr("!\"#$%&()*+,./:;<=>?@[\\]^`{|}~", *text) != NULL && *text != '\0';
    }
    return bytes >= 3 && memcmp(text, "\xe2\x80\x90", 3) >= 0 &&
           (memcmp(text, "\xe2\x81\xb0", 3) < 0 || memcmp(text, "\xe2\xba\x80", 3) >= 0);
}

clf_status clf__markup_words(struct clf__markup_word **out, int *count, const char *text, size_t size)
{
    int capacity = 0, continues = 0;
    *out = NULL;
    *count = 0;
    for (size_t at = 0, bytes; at < size; at += bytes) {
        bytes = character_size(text, size, at);
        int is_gap = is_space(text + at, bytes), ends = is_gap || is_alone(text + at, bytes);
        if (!is_gap && (ends || !continues)) {
            clf_status status = clf__grow(out, *count, &capacity, sizeof **out);
            if (status != CLF_OK) {
                clf__free(*out);
                *out = NULL;
                return status;
            }
            (*out)[(*count)++] = (struct clf__markup_word){at, at + bytes};
        } else if (!is_gap) {
            (*out)[*count - 1].end = at + bytes;
        }
        continues = !ends;
    }
    return CLF_OK;
}
