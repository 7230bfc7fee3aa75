/* Special tokens of Whisper models that come without a tokenizer file (openai/whisper, tokenizer.py). */
#ifndef CLF_TEXT_SPEECH_TOKENS_H
#define CLF_TEXT_SPEECH_TOKENS_H

#include "text/tokenizers/token_list.h"

enum {
    CLF__SPEECH_LANGUAGES = 100,
    CLF__SPEECH_TIMES = 1501,        /* number of timestamps: one every 0.02 s of a 30 s window */
    CLF__SPEECH_MULTILINGUAL = 51865 /* minimum number of ids of a multilingual model */
};

/* Returns the number of languages that fit into a model with `rows` ids whose special tokens begin at
 * `first`; may be 0 or negative. */
int clf__speech_room(int first, int rows);
/* Returns the code of a language given by code or English name ("fr", "French"), as in openai/whisper; NULL:
 * unknown. */
const char *clf__speech_code(const char *language);
/* Returns the English name of a code in lower case; NULL: unknown. */
const char *clf__speech_name(const char *code);
/* Adds all special tokens in order of id, with the first `languages` languages. */
clf_status clf__speech_specials(struct clf__token_list *tokens, int languages);

/* Names the spare tokens after <|notimestamps|>: tokenizers of transformers before September 2023 end there,
 * but the models have rows for the timestamps. */
clf_status clf__speech_name_times(struct clf__token_list *tokens);

#endif
