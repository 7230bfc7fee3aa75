#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include "base/memory.h"

static int is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

static clf_status words_segment(const void *state, const char *text, size_t size,
                                clf__token_function *function, void *user)
{
    (void)state;
    size_t start = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i == size || is_space(text[i])) {
            if (i > start) {
                CLF__TRY(function(user, text + start, i - start));
            }
            start = i + 1;
        }
    }
    return CLF_OK;
}

static clf_status words_join(const void *state, char **text, const char *const *words, int count)
{
    (void)state;
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(words[i]) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        end = stpcpy(stpcpy(end, i > 0 ? " " : ""), words[i]);
    }
    return CLF_OK;
}

const struct clf__segmenter clf__segmenter_words = {
    .name = "words",
    .free = clf__free,
    .segment = words_segment,
    .join = words_join,
};
