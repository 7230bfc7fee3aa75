/* Converts a .tiktoken file (openai/tiktoken, load.py), one base64 token and rank per line, to the
 * tokenizer.json of a Whisper model. openai/whisper defines the special tokens in code. */
#ifndef CLF_TEXT_JSON_TIKTOKEN_H
#define CLF_TEXT_JSON_TIKTOKEN_H

#include <jansson.h>

#include "base/status.h"

/* Reads the file at `path` for a model with `rows` ids: Whisper's special tokens (text/tokenizers/speech.h)
 * follow the file's tokens, with as many languages as the ids allow. The caller frees *out with
 * json_decref(). */
clf_status clf__tiktoken_read(json_t **out, const char *path, int rows);
/* clf__tiktoken_read() for a vocabulary with all tokens in order of id. Ids below <|endoftext|>, the first
 * special token, are ranks. Returns CLF_FORMAT if this token, or the token of any byte, is missing. */
struct clf__vocabulary;
clf_status clf__tiktoken_of_vocabulary(json_t **out, const struct clf__vocabulary *vocabulary);
/* Counts the tokens in a file; the count is the id of the first special token. */
clf_status clf__tiktoken_count(int *out, const char *path, int rows);

#endif
