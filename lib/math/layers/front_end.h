/* The front end of a stack: turns a source or target into rows of width D, before positions and norm. */
#ifndef CLF_LAYERS_FRONT_END_H
#define CLF_LAYERS_FRONT_END_H

#include "math/layers/linear.h"
#include "math/ops/embedding.h"

enum { CLF__CONVOLUTIONS = 2, CLF__CONVOLUTION_WIDTH = 3 };

/* Each kind has its own members. */
struct clf__front_end {
    const struct clf__front_end_kind *kind;
    struct clf__weight *tokens; /* (V, D), may be shared with the other side; NULL for frames */
    float scale;                /* scale of the embeddings */
    struct clf__linear frames;  /* (D, feature size); weight NULL for other kinds */
    /* (D, 3 feature size), (D, 3 D), with inputs in the order of clf__unfold_forward(); weights NULL for
     * other kinds */
    struct clf__linear convolutions[CLF__CONVOLUTIONS];
};

/* The inputs of a front end. */
struct clf__front_end_input {
    struct clf__tensor ids;    /* (1, N) i32; unused for frames */
    struct clf__tensor frames; /* (N, feature size); unused for tokens */
    /* Sequence b has the frames first[b] .. first[b + 1] - 1; convolutions do not cross sequences. The
     * members below are used only by convolutions. */
    int count;
    const int *first;                /* (count + 1) */
    struct clf__tensor scratch;      /* (1, n), n = scratch() of the kind */
    struct clf__id_groups id_groups; /* groups of the ids, in training */
    struct clf__tensor record;       /* (1, n), n = record() of the kind, in training; otherwise buffer
                                      * NULL */
};

struct clf__front_end_kind {
    /* Returns the number of rows for a source with this many tokens or frames. */
    int (*rows)(int count);
    /* Returns the number of floats of scratch memory for sequences of at most this many frames. NULL: no
     * scratch. */
    int64_t (*scratch)(int d_model, int feature_size, int frames);
    /* Returns the number of floats that training records for the backward pass, including scratch memory, for
     * frames that become this many rows. NULL: no record. */
    int64_t (*record)(int d_model, int feature_size, int frames, int rows);
    /* Computes y = FrontEnd(input) + table[positions]; table.buffer NULL: no positions. */
    clf_status (*forward)(struct clf__tensor y, /* (N, D) */
                          const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                          struct clf__tensor table,      /* (P, D) */
                          struct clf__tensor positions); /* (1, N) i32 */
    /* Adds to the gradients of the parameters; dy is overwritten. */
    clf_status (*backward)(const struct clf__front_end *gradient, struct clf__tensor dy, /* (N, D) */
                           const struct clf__front_end *front_end, const struct clf__front_end_input *input,
                           struct clf__tensor scratch); /* (1, n), n = clf__bias_backward_scratch() */
};

/* Tokens are embedded. Frames pass through a linear layer, or through two convolutions of width three,
 * each followed by the exact GELU; the second has stride two (Radford et al. 2022, 2.2). */
extern const struct clf__front_end_kind clf__tokens_front_end, clf__frames_front_end,
    clf__convolutions_front_end;

/* The convolutions in training, over all sequences at once, with a record. */
int64_t clf__convolutions_record(int d_model, int feature_size, int frames, int rows);
clf_status clf__convolutions_train(struct clf__tensor y, const struct clf__front_end *front_end,
                                   const struct clf__front_end_input *input);
clf_status clf__convolutions_backward(const struct clf__front_end *gradient, struct clf__tensor dy,
                                      const struct clf__front_end *front_end,
                                      const struct clf__front_end_input *input, struct clf__tensor scratch);

#endif
