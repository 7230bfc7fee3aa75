/* The special tokens of Whisper's models where no file names them (openai/whisper, tokenizer.py). */
#ifndef CLF_TEXT_SPEECH_TOKENS_H
#define CLF_TEXT_SPEECH_TOKENS_H

#include "text/pieces.h"

enum {
    CLF__SPEECH_LANGUAGES = 100,
    CLF__SPEECH_TIMES = 1501,        /* one every 0.02 s of a window of 30 s */
    CLF__SPEECH_MULTILINGUAL = 51865 /* from as many ids on a model knows more than English */
};

/* How many languages a model of `rows` ids has whose special tokens begin at `first`; it may be none, or
 * less. */
int clf__speech_room(int first, int rows);
/* The code of a language that openai/whisper knows by that code or English name ("fr", "French"); NULL: it
 * knows none. */
const char *clf__speech_code(const char *language);
/* Adds all special tokens, with the first so many languages, in the order of their ids. */
clf_status clf__speech_specials(struct clf__pieces *pieces, int languages);

/* Names the spare pieces behind <|notimestamps|>: tokenizers of transformers before September 2023 end there,
 * and the models' rows go on with the times. */
clf_status clf__speech_name_times(struct clf__pieces *pieces);

#endif
