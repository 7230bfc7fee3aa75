/* How a text is cut at what matches: the behaviours of Hugging Face's tokenizers. */
#ifndef CLF_TEXT_JSON_SPLIT_H
#define CLF_TEXT_JSON_SPLIT_H

#include "text/json/words.h"

enum clf__split {
    CLF__SPLIT_REMOVED,              /* what matches is left out */
    CLF__SPLIT_ISOLATED,             /* each match is a word */
    CLF__SPLIT_CONTIGUOUS,           /* matches beside each other are one */
    CLF__SPLIT_MERGED_WITH_PREVIOUS, /* a match goes with what is before it */
    CLF__SPLIT_MERGED_WITH_NEXT,
};

/* Collects stretches of a text from the left, each a match or what is between two, and adds the words. */
struct clf__splitter {
    struct clf__word_list *out;
    const char *text;
    enum clf__split behaviour;
    int is_first;      /* the text begins with this text */
    size_t start, end; /* of the word that is not added yet */
    int is_match;      /* the last stretch was one */
    int has_word;
};
void clf__splitter_begin(struct clf__splitter *out, struct clf__word_list *words, const char *text,
                         int is_first, enum clf__split behaviour);
clf_status clf__splitter_add(struct clf__splitter *splitter, size_t start, size_t end, int is_match);
clf_status clf__splitter_end(struct clf__splitter *splitter);

#endif
