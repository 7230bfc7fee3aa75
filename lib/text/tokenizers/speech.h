/* Special tokens of Whisper's tokenizers (openai/whisper, tokenizer.py), and decoding of Whisper's ids to
 * text. */
#ifndef CLF_TEXT_SPEECH_H
#define CLF_TEXT_SPEECH_H

#include "text/tokenizers/tokenizer.h"

/* Text ids are below `end`; timestamps start at timestamp_begin, one every 0.02 s. */
struct clf__speech_tokens {
    int32_t end, start, translate, transcribe, start_of_lm, start_of_previous, no_speech, no_timestamps,
        timestamp_begin;
    int languages; /* number of language ids after `start` */
};

/* Finds the special tokens. Returns CLF_UNSUPPORTED naming the token that the tokenizer lacks. */
clf_status clf__speech_tokens_find(struct clf__speech_tokens *out, const struct clf__tokenizer *tokenizer,
                                   const char *folder);

/* Returns the code of a language id, such as "en"; the caller frees it. */
clf_status clf__speech_language_code(char **out, const struct clf__tokenizer *tokenizer, int32_t id);
/* Returns the id of a language code, or -1. The model may lack a row for a language that was added after the
 * other special tokens. */
int32_t clf__speech_language_id(const struct clf__speech_tokens *tokens,
                                const struct clf__tokenizer *tokenizer, const char *code);

/* Decodes the text ids, ignoring others; invalid UTF-8 becomes U+FFFD. The caller frees *out. */
clf_status clf__speech_text(char **out, const struct clf__speech_tokens *tokens,
                            const struct clf__tokenizer *tokenizer, const int32_t *ids, int count);

/* Adds the ids of a text. */
clf_status clf__speech_encode(struct clf__ids *ids, const struct clf__tokenizer *tokenizer, const char *text);

/* Adds the ids of non-speech symbols: brackets, notes and speaker marks. */
clf_status clf__speech_unspoken(struct clf__ids *ids, const struct clf__tokenizer *tokenizer);

/* Strips white space like Python's strip(). */
const char *clf__speech_strip(size_t *size, const char *text);

#endif
