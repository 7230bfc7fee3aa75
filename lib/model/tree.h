/* The tree of a model's parameters, said once: which named parameters lie in which module of its structures.
 * Listing, loading, zeroing, freeing and training walk it. */
#ifndef CLF_MODEL_TREE_H
#define CLF_MODEL_TREE_H

#include "config/config.h"
#include "config/initial.h"
#include "model/stack.h"

enum clf__module_kind {
    CLF__MODULE_LINEAR, /* struct clf__linear; its parts are stacked. No weight: it is the target embedding */
    CLF__MODULE_NORM,   /* struct clf__norm: the weight is its gain, the bias its shift */
    CLF__MODULE_WEIGHT, /* struct clf__weight *: an embedding */
    CLF__MODULE_TABLE   /* struct clf__tensor */
};

/* One parameter of a module and its bias, by their canonical names; an empty name: there is none. */
struct clf__module_part {
    char weight[96], bias[96];
    enum clf__role role; /* of the weight */
    int kernel; /* neighbours that a convolution looks at, the last dimension of its weight; else 0 */
    int rows, head_width; /* the latter in attention, else 0 */
    int bias_is_fixed;    /* a constant that the family stores: it is not trained */
};

enum { CLF__MODULE_PARTS = 3 };

struct clf__module {
    enum clf__module_kind kind;
    enum clf__side side;
    int layer;     /* that it belongs to; -1: to none */
    size_t offset; /* of it in that layer, or in the encoder or decoder */
    int columns;   /* of each part */
    int part_count;
    struct clf__module_part parts[CLF__MODULE_PARTS];
};

/* Both stacks: of a model, or of gradients or moments that lie as its values do. Borrowed. */
struct clf__stacks {
    struct clf__stack *encoder, *decoder;
};

static inline struct clf__stack *clf__stack_of(struct clf__stacks stacks, enum clf__side side)
{
    return side == CLF__ENCODER ? stacks.encoder : stacks.decoder;
}

/* A gradient tree or moment tree: the stacks of a transformer with gradients or moments as values. All
 * parameters are in one pool, in the order of the tree. */
struct clf__parameter_tree {
    struct clf__stack encoder, decoder;
    struct clf__pool pool;
};

static inline struct clf__stacks clf__parameter_tree_stacks(struct clf__parameter_tree *tree)
{
    return (struct clf__stacks){&tree->encoder, &tree->decoder};
}

/* Calls `visit` with every module that a configuration has, in a fixed order: embeddings, the encoder from
 * its front end to its last norm, the decoder likewise, the projection. Ends with its first failure. */
typedef clf_status clf__module_visitor(void *context, const struct clf__module *module);
clf_status clf__tree_visit(const struct clf__config *config, clf__module_visitor *visit, void *context);

/* The modules of any layer, for one that belongs to no model: as the decoder's layer 0, without names and
 * sizes. */
clf_status clf__tree_visit_layer(clf__module_visitor *visit, void *context);

/* The functions of a side's front end, and of its mixers. */
const struct clf__front_end_kind *clf__tree_front_end(const struct clf__config *config, enum clf__side side);
const struct clf__mixer_kind *clf__tree_mixer(const struct clf__config *config, enum clf__side side);

/* Where a module lies; NULL where the stack has no layers yet. */
void *clf__tree_module(const struct clf__module *module, struct clf__stacks stacks);

/* The canonical names of the matrices at both ends: embeddings are "model.shared.weight" where the sides
 * share one, and the projection is an embedding where it is tied. */
const char *clf__source_embedding_name(const struct clf__config *config); /* NULL for frames */
const char *clf__target_embedding_name(const struct clf__config *config);
const char *clf__output_projection_name(const struct clf__config *config);

#endif
