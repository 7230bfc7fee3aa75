/* The front end of a stack: what makes rows of width D of a source or target, before positions and norm. */
#ifndef CLF_LAYERS_FRONT_END_H
#define CLF_LAYERS_FRONT_END_H

#include "layers/linear.h"
#include "ops/embedding.h"

/* A kind's parameters are a member of their own. */
struct clf__front_end {
    const struct clf__front_end_kind *kind;
    struct clf__weight *tokens; /* (V, D), maybe the other side's; NULL where there are frames */
    float scale;                /* of the embedding */
    struct clf__linear frames;  /* (D, feature size); weight NULL where there are tokens */
};

/* What it makes rows of. */
struct clf__front_end_input {
    struct clf__tensor ids;          /* (1, N) i32; unused for frames */
    struct clf__tensor frames;       /* (N, feature size); unused for tokens */
    struct clf__id_groups id_groups; /* of the ids, in training */
};

struct clf__front_end_kind {
    /* How many rows it makes of a source of so many tokens or frames. */
    int (*rows)(int count);
    /* y = FrontEnd(input) + table[positions]; table.buffer NULL: nothing is added. */
    clf_status (*forward)(struct clf__tensor y, /* (N, D) */
                          const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                          struct clf__tensor table,      /* (P, D) */
                          struct clf__tensor positions); /* (1, N) i32 */
    /* Adds to the gradients of its parameters. */
    clf_status (*backward)(const struct clf__front_end *gradient, struct clf__tensor dy, /* (N, D) */
                           const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                           struct clf__tensor scratch); /* (1, n): as clf__bias_backward_scratch() says */
};

/* Tokens are embedded; frames go through a linear layer. */
extern const struct clf__front_end_kind clf__tokens_front_end, clf__frames_front_end;

#endif
