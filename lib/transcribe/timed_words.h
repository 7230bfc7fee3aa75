/* Word timestamps from token timestamps (openai/whisper, timing.py). */
#ifndef CLF_TRANSCRIBE_TIMED_WORDS_H
#define CLF_TRANSCRIBE_TIMED_WORDS_H

#include <clformer/transcriber.h>

/* A decoded word; empty after being joined to another word. */
struct clf__timed_word {
    char *text;        /* owned; "": nothing */
    int ids;           /* number of ids, including joined words */
    double start, end; /* seconds from the start of the window */
    double probability;
};

struct clf__timed_words {
    struct clf__timed_word *data;
    int count;
    double median; /* median duration of words, at most 0.7 s */
};

void clf__timed_words_free(struct clf__timed_words *words);

/* Finds the median, shortens long words next to the end of a sentence, and joins punctuation: `prepend` with
 * a leading space to the following word, `append` to the preceding word. */
clf_status clf__timed_words_settle(struct clf__timed_words *words, const char *prepend, const char *append);

/* Distributes the words to the segments of a window that begins at `offset` seconds: segment i takes words
 * until they have ids[i] ids, its number of text ids. Shortens long words after a pause and adjusts the
 * segments' times to their words. spoken: end of the last word before the window. */
clf_status clf__timed_words_share(struct clf_segment *segments, const int *ids, int count,
                                  const struct clf__timed_words *words, double offset, double spoken);

#endif
