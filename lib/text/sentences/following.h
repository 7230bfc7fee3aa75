/* The text after a possible sentence end, and the words before it. */
#ifndef CLF_TEXT_SENTENCES_FOLLOWING_H
#define CLF_TEXT_SENTENCES_FOLLOWING_H

#include "text/sentences/words.h"

/* Properties of the text after a possible sentence end. */
struct clf__following {
    enum clf__mark mark; /* first mark other than dashes, opening marks and white space */
    struct clf__sentence_word word;
    int is_joined; /* no white space before it */
    int has_dash, has_opening, has_inverted;
    int has_bracket; /* starts with an opening mark */
    int is_small;    /* starts with a small letter, except as in "iPhone" and "b) text" */
};

/* Reads the text after an ending. */
struct clf__following clf__following_read(const struct clf__passage *passage,
                                          const struct clf__ending *ending);
/* Returns whether the next word certainly begins a sentence and does not belong to an abbreviation or
 * number. */
int clf__following_starts(const struct clf__passage *passage, const struct clf__following *following);

/* Returns whether an opening bracket, ASCII or full width, is at an offset. */
int clf__is_bracket_at(const struct clf__passage *passage, size_t at);

/* Counts the words from `start` to `end`, up to `most`. */
int clf__count_words(const struct clf__passage *passage, size_t start, size_t end, int most);
/* Returns whether there are words, within a distance that bounds the work on long lines. */
int clf__has_words(const struct clf__passage *passage, size_t start, size_t end);
/* Returns the word before `word`, which is empty if there is none. */
struct clf__sentence_word clf__previous_word(const struct clf__passage *passage, size_t start,
                                             const struct clf__sentence_word *word);

#endif
