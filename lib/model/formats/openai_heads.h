/* Alignment heads for word timestamps, which openai/whisper defines in its code (whisper/__init__.py) and
 * transformers in model folders. */
#ifndef CLF_FORMATS_OPENAI_HEADS_H
#define CLF_FORMATS_OPENAI_HEADS_H

#include <jansson.h>

/* Returns the alignment heads of the published model with these dims as a list of [layer, head] that the
 * caller releases; empty for other models. The last component of `path` distinguishes large-v1 from large-v2,
 * which have equal dims. */
json_t *clf__openai_heads(const char *path, int layers, int heads, int vocabulary);

#endif
