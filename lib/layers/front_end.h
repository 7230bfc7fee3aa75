/* The front end of a stack: what makes rows of width D of a source or target, before positions and norm. */
#ifndef CLF_LAYERS_FRONT_END_H
#define CLF_LAYERS_FRONT_END_H

#include "layers/linear.h"
#include "ops/embedding.h"

enum { CLF__CONVOLUTIONS = 2, CLF__CONVOLUTION_WIDTH = 3 };

/* A kind's parameters are a member of their own. */
struct clf__front_end {
    const struct clf__front_end_kind *kind;
    struct clf__weight *tokens; /* (V, D), maybe the other side's; NULL where there are frames */
    float scale;                /* of the embedding */
    struct clf__linear frames;  /* (D, feature size); weight NULL where there are others */
    /* (D, 3 feature size), (D, 3 D), as clf__unfold_forward() has their inputs; weights NULL likewise */
    struct clf__linear convolutions[CLF__CONVOLUTIONS];
};

/* What it makes rows of. */
struct clf__front_end_input {
    struct clf__tensor ids;    /* (1, N) i32; unused for frames */
    struct clf__tensor frames; /* (N, feature size); unused for tokens */
    /* Where convolutions do not look from one sequence into the next: sequence b is frames first[b] ..
     * first[b + 1] - 1. Unused for others, and so is the room that they work in. */
    int count;
    const int *first;                /* (count + 1) */
    struct clf__tensor scratch;      /* (1, n): as the kind's scratch() says */
    struct clf__id_groups id_groups; /* of the ids, in training */
    struct clf__tensor record;       /* (1, n): as the kind's record() says, in training; else buffer NULL */
};

struct clf__front_end_kind {
    /* How many rows it makes of a source of so many tokens or frames. */
    int (*rows)(int count);
    /* Floats that it works in, for sequences of at most so many frames. NULL: none. */
    int64_t (*scratch)(int d_model, int feature_size, int frames);
    /* Floats that training keeps from a forward pass to its backward pass and works in, for frames that
     * become so many rows. NULL: none. */
    int64_t (*record)(int d_model, int feature_size, int frames, int rows);
    /* y = FrontEnd(input) + table[positions]; table.buffer NULL: nothing is added. */
    clf_status (*forward)(struct clf__tensor y, /* (N, D) */
                          const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                          struct clf__tensor table,      /* (P, D) */
                          struct clf__tensor positions); /* (1, N) i32 */
    /* Adds to the gradients of its parameters; dy is overwritten. */
    clf_status (*backward)(const struct clf__front_end *gradient, struct clf__tensor dy, /* (N, D) */
                           const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                           struct clf__tensor scratch); /* (1, n): as clf__bias_backward_scratch() says */
};

/* Tokens are embedded; frames go through a linear layer, or through two convolutions over three neighbours
 * with the exact GELU behind each, of which the second makes one row of two frames (Radford et al.
 * 2022, 2.2).
 */
extern const struct clf__front_end_kind clf__tokens_front_end, clf__frames_front_end,
    clf__convolutions_front_end;

/* The same convolutions over all sequences at once, in training: into and from the record. */
int64_t clf__convolutions_record(int d_model, int feature_size, int frames, int rows);
clf_status clf__convolutions_train(struct clf__tensor y, const struct clf__front_end *front_end,
                                   const struct clf__front_end_input *input);
clf_status clf__convolutions_backward(const struct clf__front_end *gradient, struct clf__tensor dy,
                                      const struct clf__front_end *front_end,
                                      const struct clf__front_end_input *input, struct clf__tensor scratch);

#endif
