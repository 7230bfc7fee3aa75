/* The times of words, from those of tokens (openai/whisper, timing.py). */
#ifndef CLF_TRANSCRIBE_TIMED_WORDS_H
#define CLF_TRANSCRIBE_TIMED_WORDS_H

#include <clformer/transcriber.h>

/* A word as the model spoke it, or nothing any more where it was joined to another one. */
struct clf__timed_word {
    char *text;        /* owned; "": nothing */
    int ids;           /* so many, and those of what was joined to it */
    double start, end; /* seconds behind the window's beginning */
    double probability;
};

struct clf__timed_words {
    struct clf__timed_word *data;
    int count;
    double median; /* length of words, at most 0.7 s */
};

void clf__timed_words_free(struct clf__timed_words *words);

/* Finds the median, shortens what is too long beside the end of a sentence, and joins signs: those of
 * `prepend` with a space before them to the word behind, those of `append` to the word before. */
clf_status clf__timed_words_settle(struct clf__timed_words *words, const char *prepend, const char *append);

/* Gives the words to the segments of a window that begins at `offset` seconds: each takes words until these
 * have as many ids as it has text ids, ids[i]; shortens what is too long behind a pause, and moves the
 * segments' times to those of their words. spoken: when the words before the window ended. */
clf_status clf__timed_words_share(struct clf_segment *segments, const int *ids, int count,
                                  const struct clf__timed_words *words, double offset, double spoken);

#endif
