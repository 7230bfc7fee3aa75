/* "Replace", both a normalizer and a decoder: replaces matches of a pattern with a text. */
#ifndef CLF_TEXT_JSON_REPLACE_H
#define CLF_TEXT_JSON_REPLACE_H

#include "text/tokenizers/json/node.h"
#include "text/tokenizers/json/words.h"

clf_status clf__replace_read(void **state, const struct clf__node *node);
void clf__replace_free(void *state);
clf_status clf__replace_run(const void *state, struct clf__word_list *out, const struct clf__word_list *in);

#endif
