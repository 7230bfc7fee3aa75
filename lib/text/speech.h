/* The special tokens of Whisper's tokenizers (openai/whisper, tokenizer.py), and text from its ids. */
#ifndef CLF_TEXT_SPEECH_H
#define CLF_TEXT_SPEECH_H

#include "text/tokenizer.h"

/* Text is below `end`; times are from timestamp_begin on, one every 0.02 s. */
struct clf__speech_tokens {
    int32_t end, start, translate, transcribe, start_of_lm, start_of_previous, no_speech, no_timestamps,
        timestamp_begin;
    int languages; /* the ids behind `start` */
};

/* CLF_UNSUPPORTED naming the token that the tokenizer of a folder does not have. */
clf_status clf__speech_tokens_find(struct clf__speech_tokens *out, const struct clf__tokenizer *tokenizer,
                                   const char *folder);

/* The code of a language's id, such as "en"; it is freed by the caller. */
clf_status clf__speech_language_code(char **out, const struct clf__tokenizer *tokenizer, int32_t id);
/* The id of a language's code, or -1. A language that was added to a model comes behind the other special
 * tokens, perhaps with an id for which the model has no row. */
int32_t clf__speech_language_id(const struct clf__speech_tokens *tokens,
                                const struct clf__tokenizer *tokenizer, const char *code);

/* The text of those ids that are text; bytes that are no UTF-8 become U+FFFD. The caller frees *out. */
clf_status clf__speech_text(char **out, const struct clf__speech_tokens *tokens,
                            const struct clf__tokenizer *tokenizer, const int32_t *ids, int count);

/* Adds the ids of a text, as it is. */
clf_status clf__speech_encode(struct clf__ids *ids, const struct clf__tokenizer *tokenizer, const char *text);

/* Adds the ids of signs that are not spoken: brackets, notes, and what stands before a speaker. */
clf_status clf__speech_unspoken(struct clf__ids *ids, const struct clf__tokenizer *tokenizer);

/* The part of a text without white space around it, as Python's strip() takes it for white space. */
const char *clf__speech_strip(size_t *size, const char *text);

#endif
