/* Encoder and decoder on a device, created from weights or as zeros of the same sizes. */
#ifndef CLF_MODEL_STACKS_H
#define CLF_MODEL_STACKS_H

#include "model/parameters.h"
#include "model/tree.h"

/* Loads both stacks, which must be zero, with matrices in `precision`. The caller frees them with
 * clf__stacks_free(), also after a failure. */
clf_status clf__stacks_load(struct clf__stacks out, struct clf_device *device,
                            const struct clf__config *config, enum clf__precision precision,
                            const struct clf__parameters *parameters);
/* Enlarges all tables of positions and relative biases, like clf__embedder_ensure_positions(). */
clf_status clf__stack_ensure_positions(struct clf__stack *stack, struct clf_device *device,
                                       const struct clf__config *config, enum clf__side side, int length);
void clf__stacks_free(struct clf__stacks stacks, const struct clf__config *config);

/* Creates zeros for all trained modules of a model, for gradients or moments; `what` is their name in
 * messages. */
clf_status clf__parameter_tree_create_zero(struct clf__parameter_tree *out, struct clf__stacks like,
                                           const struct clf__config *config, const char *what);
void clf__parameter_tree_free(struct clf__parameter_tree *tree, const struct clf__config *config);

/* Returns the maximum row widths over all layers of both stacks. */
struct clf__workspace_widths clf__stacks_widths(const struct clf__config *config);

/* Frees a layer that is not part of a model. */
void clf__layer_free(struct clf__layer *layer);

#endif
