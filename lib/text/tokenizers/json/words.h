/* A text as a list of words, which the parts of tokenizer.json transform. */
#ifndef CLF_TEXT_JSON_WORDS_H
#define CLF_TEXT_JSON_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__word {
    size_t start, size; /* range in `bytes` */
    int is_first;       /* the word begins the text */
};

/* Zero-initialise; memory is reused when the list is cleared and refilled. */
struct clf__word_list {
    char *bytes; /* (size) valid UTF-8, ends with the bytes of the open word */
    size_t size, capacity;
    struct clf__word *items;
    int count, item_capacity;
    size_t open;     /* start of the open word */
    int keeps_empty; /* keeps empty words */
    size_t most;     /* maximum number of bytes; 0: unlimited */
    int is_full;     /* `most` was exceeded */
};
void clf__word_list_free(struct clf__word_list *words);
void clf__word_list_clear(struct clf__word_list *words);

/* Append bytes or a character to the open word, and end the open word. Return CLF_TEXT if the list would
 * exceed `most`. */
clf_status clf__word_list_put(struct clf__word_list *words, const char *bytes, size_t size);
clf_status clf__word_list_put_character(struct clf__word_list *words, int32_t character);
clf_status clf__word_list_end(struct clf__word_list *words, int is_first);
/* Adds a whole word. */
clf_status clf__word_list_add(struct clf__word_list *words, const char *bytes, size_t size, int is_first);

#endif
