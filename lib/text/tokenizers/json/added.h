/* The added tokens of tokenizer.json: their ids and flags. */
#ifndef CLF_TEXT_JSON_ADDED_H
#define CLF_TEXT_JSON_ADDED_H

#include "text/tokenizers/json/model.h"
#include "text/tokenizers/json/pipeline.h"

/* Builds the vocabulary from the model's tokens and the added tokens, with the flags set by file, folder and
 * class. */
clf_status clf__added_vocabulary(struct clf__vocabulary *out, const json_t *root, const char *path,
                                 const struct clf__model_tokens *tokens,
                                 const struct clf__pipeline_options *options);

#endif
