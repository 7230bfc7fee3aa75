/* Attention heads for word timestamps: openai/whisper defines them in code for each model
 * (whisper/__init__.py), transformers in the folder. */
#ifndef CLF_FORMATS_OPENAI_HEADS_H
#define CLF_FORMATS_OPENAI_HEADS_H

#include <jansson.h>

/* Returns the alignment heads of the published model with these dims as a list of [layer, head], which the
 * caller releases; empty for any other model. The last part of the path decides between large-v1 and
 * large-v2, which have the same dims. */
json_t *clf__openai_heads(const char *path, int layers, int heads, int vocabulary);

#endif
