/* A .tiktoken file (openai/tiktoken, load.py): a token in base64 and its rank a line, as the tokenizer.json
 * of a Whisper model. openai/whisper keeps its files beside its code, and makes the special tokens there. */
#ifndef CLF_TEXT_JSON_TIKTOKEN_H
#define CLF_TEXT_JSON_TIKTOKEN_H

#include <jansson.h>

#include "base/status.h"

/* Reads the file at `path`, for a model with so many ids: behind the file's tokens come Whisper's special
 * ones (text/speech.h), of as many languages as there is room for. The caller gives *out back with
 * json_decref(). */
clf_status clf__tiktoken_read(json_t **out, const char *path, int rows);
/* The same from a vocabulary that has the tokens and the special ones by their ids: up to the first special
 * one, <|endoftext|>, ids are ranks. A vocabulary without it, or without a byte, is CLF_FORMAT. */
struct clf__vocabulary;
clf_status clf__tiktoken_of_vocabulary(json_t **out, const struct clf__vocabulary *vocabulary);
/* How many tokens the file has: the id of the first special one. */
clf_status clf__tiktoken_count(int *out, const char *path, int rows);

#endif
