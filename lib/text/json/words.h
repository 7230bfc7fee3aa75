/* A text in words: what the parts of a tokenizer.json hand on to each other. */
#ifndef CLF_TEXT_JSON_WORDS_H
#define CLF_TEXT_JSON_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__word {
    size_t start, size; /* of its bytes */
    int is_first;       /* the text begins with it */
};

/* Zeroed at first; emptied and filled again it keeps its memory. */
struct clf__word_list {
    char *bytes; /* (size) valid UTF-8, with the bytes of a word that is still open at the end */
    size_t size, capacity;
    struct clf__word *items;
    int count, item_capacity;
    size_t open;     /* where the open word begins */
    int keeps_empty; /* words without bytes count too */
    size_t most;     /* bytes that it may hold; 0: any number */
    int is_full;     /* more did not fit */
};
void clf__word_list_free(struct clf__word_list *words);
void clf__word_list_clear(struct clf__word_list *words);

/* Adds bytes to the open word, or a character; then closes it. CLF_TEXT: there would be more than `most`. */
clf_status clf__word_list_put(struct clf__word_list *words, const char *bytes, size_t size);
clf_status clf__word_list_put_character(struct clf__word_list *words, int32_t character);
clf_status clf__word_list_end(struct clf__word_list *words, int is_first);
/* A whole word. */
clf_status clf__word_list_add(struct clf__word_list *words, const char *bytes, size_t size, int is_first);

#endif
