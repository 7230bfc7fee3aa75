/* Groups text ids into words (openai/whisper, tokenizer.py). */
#ifndef CLF_TEXT_SPEECH_WORDS_H
#define CLF_TEXT_SPEECH_WORDS_H

#include "text/tokenizers/speech.h"

/* Words in order, owned by the caller; release with clf__speech_words_free(). */
struct clf__speech_words {
    struct clf__speech_word {
        char *text; /* text of the word, including the space before it */
        int ids;    /* number of ids, which are consecutive */
    } * data;
    int count, capacity;
};

/* Returns whether a language is written without spaces between words. */
int clf__speech_is_spaceless(const char *language);

/* Groups text ids into words at spaces and symbols, or at every character for a language without spaces. An
 * incomplete last character is omitted together with the word before it, whose end is unknown. *out is set on
 * failure too. */
clf_status clf__speech_words_split(struct clf__speech_words *out, const struct clf__speech_tokens *tokens,
                                   const struct clf__tokenizer *tokenizer, const int32_t *ids, int count,
                                   int is_spaceless);
void clf__speech_words_free(struct clf__speech_words *words);

#endif
