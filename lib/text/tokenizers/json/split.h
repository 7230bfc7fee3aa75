/* Split behaviours of Hugging Face tokenizers. */
#ifndef CLF_TEXT_JSON_SPLIT_H
#define CLF_TEXT_JSON_SPLIT_H

#include "text/tokenizers/json/words.h"

enum clf__split {
    CLF__SPLIT_REMOVED,              /* drop matches */
    CLF__SPLIT_ISOLATED,             /* each match is a word */
    CLF__SPLIT_CONTIGUOUS,           /* join adjacent matches */
    CLF__SPLIT_MERGED_WITH_PREVIOUS, /* attach a match to the text before it */
    CLF__SPLIT_MERGED_WITH_NEXT,
};

/* Receives segments from left to right, each a match or the text between two matches, and adds words. */
struct clf__splitter {
    struct clf__word_list *out;
    const char *text;
    enum clf__split behaviour;
    int is_first;      /* `text` is the beginning of the whole text */
    size_t start, end; /* range of the pending word */
    int is_match;      /* the last segment was a match */
    int has_word;
};
void clf__splitter_begin(struct clf__splitter *out, struct clf__word_list *words, const char *text,
                         int is_first, enum clf__split behaviour);
clf_status clf__splitter_add(struct clf__splitter *splitter, size_t start, size_t end, int is_match);
clf_status clf__splitter_end(struct clf__splitter *splitter);

#endif
