/* The normalizer "Precompiled": a SentencePiece table, applied as Hugging Face tokenizers do. */
#ifndef CLF_TEXT_JSON_PRECOMPILED_H
#define CLF_TEXT_JSON_PRECOMPILED_H

#include "text/tokenizers/json/node.h"
#include "text/tokenizers/json/words.h"

clf_status clf__precompiled_read(void **state, const struct clf__node *node);
void clf__precompiled_free(void *state);
clf_status clf__precompiled_run(const void *state, struct clf__word_list *out,
                                const struct clf__word_list *in);

#endif
