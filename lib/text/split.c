#include "text/split.h"

#include <string.h>

static int is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

clf_status clf__split_words(const char *text, size_t size, clf__piece_function *function, void *user)
{
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

/* What one word after the other is cut with. */
struct characters {
    const char *delimiter;
    clf__piece_function *function;
    void *user;
    int words;
};

static clf_status split_word(void *user, const char *word, size_t length)
{
    struct characters *characters = user;
    if (characters->words++ > 0) {
        const char *delimiter = characters->delimiter;
        CLF__TRY(characters->function(characters->user, delimiter, strlen(delimiter)));
    }
    size_t start = 0;
    for (size_t i = 1; i <= length; i++) {
        /* Bytes 10xxxxxx go on with a character. */
        if (i == length || ((unsigned char)word[i] & 0xC0) != 0x80) {
            CLF__TRY(characters->function(characters->user, word + start, i - start));
            start = i;
        }
    }
    return CLF_OK;
}

clf_status clf__split_characters(const char *text, size_t size, const char *delimiter,
                                 clf__piece_function *function, void *user)
{
    struct characters characters = {delimiter, function, user, 0};
    return clf__split_words(text, size, split_word, &characters);
}
