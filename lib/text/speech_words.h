/* How text ids make up words (openai/whisper, tokenizer.py). */
#ifndef CLF_TEXT_SPEECH_WORDS_H
#define CLF_TEXT_SPEECH_WORDS_H

#include "text/speech.h"

/* Words in their order; all of it the caller's, who ends with clf__speech_words_free(). */
struct clf__speech_words {
    struct clf__speech_word {
        char *text; /* with the space before it */
        int ids;    /* so many in a row */
    } * data;
    int count, capacity;
};

/* Whether a language's code is of one that is written without spaces between words. */
int clf__speech_is_spaceless(const char *language);

/* Cuts ids, all of them text, into words: where spaces and signs are, or, of a spaceless language, as finely
 * as characters allow. Where ids at the end make up no whole character, these and the word before them are
 * left out, as it has no end. *out is set on failure too. */
clf_status clf__speech_words_split(struct clf__speech_words *out, const struct clf__speech_tokens *tokens,
                                   const struct clf__tokenizer *tokenizer, const int32_t *ids, int count,
                                   int is_spaceless);
void clf__speech_words_free(struct clf__speech_words *words);

#endif
