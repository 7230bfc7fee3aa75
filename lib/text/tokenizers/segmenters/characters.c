/* Follows transformers' Wav2Vec2CTCTokenizer. */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include "base/memory.h"

static clf_status characters_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    (void)target;
    char *delimiter;
    CLF__TRY(clf__copy_string(&delimiter, folder->word_delimiter));
    *state = delimiter;
    return CLF_OK;
}

/* State shared by the words of a text. */
struct cutting {
    const char *delimiter;
    clf__token_function *function;
    void *user;
    int words;
};

static clf_status cut_word(void *user, const char *word, size_t length)
{
    struct cutting *cutting = user;
    if (cutting->words++ > 0) {
        CLF__TRY(cutting->function(cutting->user, cutting->delimiter, strlen(cutting->delimiter)));
    }
    size_t start = 0;
    for (size_t i = 1; i <= length; i++) {
        /* Continuation bytes have the form 10xxxxxx. */
        if (i == length || ((unsigned char)word[i] & 0xC0) != 0x80) {
            CLF__TRY(cutting->function(cutting->user, word + start, i - start));
            start = i;
        }
    }
    return CLF_OK;
}

static clf_status characters_segment(const void *state, const char *text, size_t size,
                                     clf__token_function *function, void *user)
{
    struct cutting cutting = {state, function, user, 0};
    return clf__segmenter_words.segment(NULL, text, size, cut_word, &cutting);
}

static clf_status characters_join(const void *state, char **text, const char *const *tokens, int count)
{
    const char *delimiter = state;
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(tokens[i]) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        end = stpcpy(end, strcmp(tokens[i], delimiter) == 0 ? " " : tokens[i]);
    }
    return CLF_OK;
}

const struct clf__segmenter clf__segmenter_characters = {
    .name = "words",
    .open = characters_open,
    .free = clf__free,
    .segment = characters_segment,
    .join = characters_join,
};
