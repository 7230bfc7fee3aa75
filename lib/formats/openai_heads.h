/* Which heads tell when words were spoken: openai/whisper's program knows them for each of its models
 * (whisper/__init__.py), where a folder of transformers says them itself. */
#ifndef CLF_FORMATS_OPENAI_HEADS_H
#define CLF_FORMATS_OPENAI_HEADS_H

#include <jansson.h>

/* Those of the published model with such a decoder, as a list of [layer, head], which the caller lets go; an
 * empty one for any other model. Of large-v1 and large-v2, which say the same of themselves, the one that the
 * path's last part names. */
json_t *clf__openai_heads(const char *path, int layers, int heads, int vocabulary);

#endif
