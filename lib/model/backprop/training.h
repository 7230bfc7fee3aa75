/* A transformer whose parameters are trained: forward and backward over batches, gradients, Adam.
 *
 * It owns gradients, moments and every activation, allocated once. Batches are ragged, as in a session. */
#ifndef CLF_BACKPROP_TRAINING_H
#define CLF_BACKPROP_TRAINING_H

#include "math/ops/adam.h"
#include "math/ops/cross_entropy.h"
#include "model/parameters.h"
#include "model/transformer.h"
#include "model/upload.h"
#include "runtime/cluster/communicator.h"

/* The largest batch of one forward pass. */
struct clf__training_limits {
    int sequences;
    int source_tokens, target_tokens; /* total over all sequences */
    int source_length, target_length; /* maximum length of a sequence */
};

struct clf__training_options {
    enum clf__precision products; /* FP32 or BF16; the parameters are fp32 */
    uint64_t seed;                /* seed of dropout; the configuration holds its rates */
    struct clf__smoothing smoothing;
    /* The pad token's row of the output projection has no gradient. MarianMT models start decoding from the
     * same row as an embedding; the row is zero, and CTranslate2 relies on that. */
    int keeps_padding;
    const struct clf__communicator
        *communicator; /* the ranks of data-parallel training, borrowed; NULL: one rank */
    /* Each rank keeps the moments of its share of the parameters and updates that share (ZeRO stage 1). The
     * functions for norms and updates are then collective, and a rank needs only the summed gradients of its
     * share. */
    int shards_moments;
};

struct clf__training;

/* Creates the training of a transformer, which must be loaded in fp32. The transformer is borrowed, and every
 * update changes its weights. */
clf_status clf__training_create(struct clf__training **out, struct clf__transformer *transformer,
                                const struct clf__training_limits *limits,
                                const struct clf__training_options *options);
void clf__training_free(struct clf__training *training);

/* A batch of pairs: sequence b of the sources belongs to sequence b of the inputs (start token first). There
 * is one label per row of the inputs; labels of -1 are ignored. */
struct clf__training_batch {
    struct clf__sequences sources, inputs;
    const int32_t *labels;
};

/* Sums over all labels other than -1. */
struct clf__training_loss {
    double loss; /* the training loss: smoothed, -sum q log p */
    double nll;  /* -log p of the labels */
    int64_t labels;
};

/* Runs a forward and a backward pass and accumulates the gradients of gradient_scale * loss. `pass` is the
 * number of the forward pass in the run, which determines the dropout masks. */
clf_status clf__training_backward(struct clf__training *training, const struct clf__training_batch *batch,
                                  float gradient_scale, uint32_t pass, struct clf__training_loss *loss);

/* clf__training_backward() in two halves: the first enqueues the work and, if `maps_gradients`, maps
 * completed gradients for sums.h; the second waits for the losses. */
clf_status clf__training_backward_begin(struct clf__training *training,
                                        const struct clf__training_batch *batch, float gradient_scale,
                                        uint32_t pass, int maps_gradients);
clf_status clf__training_backward_end(struct clf__training *training, struct clf__training_loss *loss);

/* Completes gradients that were summed over ranks, on a rank without a pass in this update: clears the
 * gradients of untrained parts. */
clf_status clf__training_complete_sums(struct clf__training *training);

/* Runs the forward pass without dropout. */
clf_status clf__training_evaluate(struct clf__training *training, const struct clf__training_batch *batch,
                                  struct clf__training_loss *loss);

/* Computes the L2 norm of all gradients, counting shared gradients once; not finite if a gradient is not
 * finite. */
clf_status clf__training_gradient_norm(struct clf__training *training, double *norm);

/* Updates every parameter with Adam and clears the gradients. Weight decay applies to parameters marked in
 * the list. */
clf_status clf__training_update(struct clf__training *training, const struct clf__adam *adam);

/* Pauses or resumes training. While paused, the transformer computes in fp32, so that a session may run on
 * it; only resuming is allowed. */
void clf__training_pause(struct clf__training *training, int is_paused);

/* Clears the gradients. */
clf_status clf__training_clear(struct clf__training *training);

/* The parameters as named host values, for checkpoints and tests, indexed as in the list. Parameters that are
 * not trained (a zero bias that the architecture stores) have zero gradients and moments. */
enum clf__training_values { CLF__VALUES, CLF__GRADIENTS, CLF__FIRST_MOMENTS, CLF__SECOND_MOMENTS };
const struct clf__parameter_list *clf__training_parameters(const struct clf__training *training);
clf_status clf__training_read(const struct clf__training *training, enum clf__training_values which,
                              int index, float *target);
clf_status clf__training_write(struct clf__training *training, enum clf__training_values which, int index,
                               const float *source);

/* Returns whether the moments are sharded, so that this rank keeps only a share. */
int clf__training_shards_moments(const struct clf__training *training);

/* Reads or writes sharded moments through the memory of the gradients, which are zero between updates.
 * collect gathers all moments of one kind there on every rank; take copies this rank's share from there.
 * clf__training_clear() restores the zeros. All ranks call collect. */
clf_status clf__training_collect_moments(struct clf__training *training, enum clf__training_values which);
clf_status clf__training_take_moments(struct clf__training *training, enum clf__training_values which);

#endif
