/* LocalAgreement-2: words are final if two consecutive hypotheses of a growing buffer agree on them
 * (Macháček et al. 2023; whisper_streaming, HypothesisBuffer). */
#ifndef CLF_TRANSCRIBE_AGREEMENT_H
#define CLF_TRANSCRIBE_AGREEMENT_H

#include <clformer/transcriber.h>

enum { CLF__PROMPT_CHARACTERS = 200 };

/* A word of a hypothesis, with times in seconds of the stream. */
struct clf__live_word {
    struct clf_word word; /* the text is owned */
    int begins_segment;   /* the word is the first of a segment or sentence */
};

/* A growable list; a zeroed list is empty. */
struct clf__live_words {
    struct clf__live_word *data; /* (count) in order of time */
    int count, capacity;
};

/* Adds a word with a copy of its text. */
clf_status clf__live_words_add(struct clf__live_words *words, const struct clf_word *word,
                               int begins_segment);
/* Removes the first `count` words. */
void clf__live_words_drop(struct clf__live_words *words, int count);
void clf__live_words_free(struct clf__live_words *words);

/* The state; a zeroed state is the start of a stream. */
struct clf__agreement {
    struct clf__live_words committed; /* final words whose audio is in the buffer */
    struct clf__live_words unstable;  /* words of the last hypothesis after the final ones */
    struct clf__live_words passed;    /* the last final words whose audio is no longer in the buffer: at most
                                         CLF__PROMPT_CHARACTERS characters */
    double end;                       /* end of the last final word */
};

/* Adds a hypothesis for the audio in the buffer. The words that it has in common with the beginning of
 * `unstable` are moved to `committed`; the rest replaces `unstable`. Words that are
 * final already are dropped. The hypothesis is empty afterwards, also after a failure. */
clf_status clf__agreement_add(struct clf__agreement *agreement, struct clf__live_words *hypothesis);

/* Makes the first `count` words of `unstable` final. */
clf_status clf__agreement_commit(struct clf__agreement *agreement, int count);

/* Drops the audio before `time`: moves final words that end by then to `passed`. */
clf_status clf__agreement_pass(struct clf__agreement *agreement, double time);

/* Returns the text of `passed`; the caller frees *out. */
clf_status clf__agreement_prompt(char **out, const struct clf__agreement *agreement);

void clf__agreement_free(struct clf__agreement *agreement);

#endif
