/* The added tokens of a tokenizer.json: which pieces they are, and what is said of them. */
#ifndef CLF_TEXT_JSON_ADDED_H
#define CLF_TEXT_JSON_ADDED_H

#include "text/json/model.h"
#include "text/json/pipeline.h"

/* Makes the vocabulary of the model's pieces and of the added tokens, each marked as file, folder and class
 * say. */
clf_status clf__added_vocabulary(struct clf__vocabulary *out, const json_t *root, const char *path,
                                 const struct clf__model_pieces *pieces,
                                 const struct clf__pipeline_options *options);

#endif
