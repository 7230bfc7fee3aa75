/* Attention heads for word timestamps: openai/whisper defines them in code for each model
 * (whisper/__init__.py), transformers in the folder. */
#ifndef CLF_FORMATS_OPENAI_HEADS_H
#define CLF_FORMATS_OPENAI_HEADS_H

#include <jansson.h>

/* Returns the heads of the published model with such a decoder as a list of [layer, head], which the caller
 * releases; empty for any other model. large-v1 and large-v2 have the same dims; the last part of the path
 * decides. */
json_t *clf__openai_heads(const char *path, int layers, int heads, int vocabulary);

#endif
