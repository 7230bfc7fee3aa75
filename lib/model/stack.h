/* What loading an encoder's and a decoder's layers has in common. */
#ifndef CLF_MODEL_STACK_H
#define CLF_MODEL_STACK_H

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "model/embedder.h"
#include "model/loader.h"

/* The heads of one side. */
struct clf__heads clf__config_heads(const struct clf__config *config, enum clf__side side);
/* As many and as wide as either side's: what scratch memory for both is sized by. */
struct clf__heads clf__config_largest_heads(const struct clf__config *config);

/* Whether the kernels of a device have room for heads as wide as the configuration's; CLF_UNSUPPORTED names
 * the keys, what they are and the widest heads that there is room for. folder: where the configuration is,
 * NULL: unknown. */
clf_status clf__config_check_heads(const struct clf__config *config, const struct clf_device *device,
                                   const char *folder, int is_trained);

/* The attention "<prefix>q_proj", ...; with `cross`, key and value are kept apart as the memory's projection.
 */
clf_status clf__load_attention(struct clf__attention_layer *out, const struct clf__loader *loader,
                               const char *prefix, enum clf__side side, int cross);

/* The feed-forward network "<prefix>fc1", .... */
clf_status clf__load_feed_forward(struct clf__feed_forward *out, const struct clf__loader *loader,
                                  const char *prefix, enum clf__side side);

#endif
