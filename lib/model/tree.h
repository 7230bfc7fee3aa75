/* The tree of a model's parameters, which maps parameter names to modules in the model's structures. Listing,
 * loading, zeroing, freeing and training walk this tree. */
#ifndef CLF_MODEL_TREE_H
#define CLF_MODEL_TREE_H

#include "model/config/initial.h"
#include "model/config/types.h"
#include "model/stack.h"

enum clf__module_kind {
    CLF__MODULE_LINEAR, /* struct clf__linear, with stacked parameters. Without a weight: uses the target
                           embedding */
    CLF__MODULE_NORM,   /* struct clf__norm: weight is gamma, bias is beta */
    CLF__MODULE_WEIGHT, /* struct clf__weight *: an embedding */
    CLF__MODULE_TABLE   /* struct clf__tensor */
};

/* A parameter of a module and its bias, by canonical names; empty if there is none. */
struct clf__module_part {
    char weight[96], bias[96];
    enum clf__role role; /* role of the weight */
    int kernel; /* kernel size of a convolution (last dimension of the weight); 0: not a convolution */
    int rows, head_width; /* head_width: 0 outside attention */
    int bias_is_fixed;    /* 1: a constant that is not trained */
};

enum { CLF__MODULE_PARTS = 3 };

struct clf__module {
    enum clf__module_kind kind;
    enum clf__side side;
    int layer;     /* -1: not in a layer */
    size_t offset; /* offset of the module in the layer, encoder or decoder */
    int columns;   /* columns of each part */
    int part_count;
    struct clf__module_part parts[CLF__MODULE_PARTS];
};

/* The encoder and decoder of a model, its gradients or its moments. Not owned. */
struct clf__stacks {
    struct clf__stack *encoder, *decoder;
};

static inline struct clf__stack *clf__stack_of(struct clf__stacks stacks, enum clf__side side)
{
    return side == CLF__ENCODER ? stacks.encoder : stacks.decoder;
}

/* Gradients or moments, with the same structure as the model. All tensors are in one pool, in tree order. */
struct clf__parameter_tree {
    struct clf__stack encoder, decoder;
    struct clf__pool pool;
};

static inline struct clf__stacks clf__parameter_tree_stacks(struct clf__parameter_tree *tree)
{
    return (struct clf__stacks){&tree->encoder, &tree->decoder};
}

/* Calls `visit` for every module in a fixed order: embeddings, encoder and decoder (each from front end to
 * final norm), projection. Stops at the first failure. */
typedef clf_status clf__module_visitor(void *context, const struct clf__module *module);
clf_status clf__tree_visit(const struct clf__config *config, clf__module_visitor *visit, void *context);

/* Visits the modules of a layer outside a model as if it were layer 0 of the decoder, without names and
 * sizes. */
clf_status clf__tree_visit_layer(clf__module_visitor *visit, void *context);

/* Return the function tables of a stack's front end and mixer. */
const struct clf__front_end_kind *clf__tree_front_end(const struct clf__config *config, enum clf__side side);
const struct clf__mixer_kind *clf__tree_mixer(const struct clf__config *config, enum clf__side side);

/* Returns the address of a module; NULL if the stack has no layers yet. */
void *clf__tree_module(const struct clf__module *module, struct clf__stacks stacks);

/* Return the canonical names of the embeddings and the projection. A shared embedding is
 * "model.shared.weight", and a tied projection has the name of the embedding. */
const char *clf__source_embedding_name(const struct clf__config *config); /* NULL for frames */
const char *clf__target_embedding_name(const struct clf__config *config);
const char *clf__output_projection_name(const struct clf__config *config);

#endif
