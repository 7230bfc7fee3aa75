/* Both stacks on a device: from a checkpoint, as zeros like another's, and their end. */
#ifndef CLF_MODEL_STACKS_H
#define CLF_MODEL_STACKS_H

#include "model/parameters.h"
#include "model/tree.h"

/* Fills both stacks, which are zeros before, on a device, from a checkpoint's parameters; the matrices in
 * `precision`. On failure too the caller ends with clf__stacks_free(). */
clf_status clf__stacks_load(struct clf__stacks out, struct clf_device *device,
                            const struct clf__config *config, clf_precision precision,
                            const struct clf__parameters *parameters);
/* Lengthens every table of positions and of relative biases, as clf__embedder_reach() does. */
clf_status clf__stack_reach(struct clf__stack *stack, struct clf_device *device,
                            const struct clf__config *config, enum clf__side side, int length);
void clf__stacks_free(struct clf__stacks stacks, const struct clf__config *config);

/* The same with zeros of the sizes that a model's modules have, for gradients and moments, which are `what`;
 * what is not trained is left out. */
clf_status clf__parameter_tree_create_zero(struct clf__parameter_tree *out, struct clf__stacks like,
                                           const struct clf__config *config, const char *what);
void clf__parameter_tree_free(struct clf__parameter_tree *tree, const struct clf__config *config);

/* The widest rows of either side's layers. */
struct clf__workspace_widths clf__stacks_widths(const struct clf__config *config);

/* Of a layer that belongs to no model. */
void clf__layer_free(struct clf__layer *layer);

#endif
