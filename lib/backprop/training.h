/* A transformer whose parameters are trained: forward and backward over batches, gradients, Adam.
 *
 * It owns gradients, moments and every activation, allocated once. Batches are ragged, as in a session. */
#ifndef CLF_BACKPROP_TRAINING_H
#define CLF_BACKPROP_TRAINING_H

#include "cluster/communicator.h"
#include "model/parameters.h"
#include "model/transformer.h"
#include "model/upload.h"
#include "ops/adam.h"
#include "ops/cross_entropy.h"

/* The largest batch of one forward pass. */
struct clf__training_limits {
    int sequences;
    int source_tokens, target_tokens; /* total of all sequences */
    int source_length, target_length; /* of one */
};

struct clf__training_options {
    clf_precision products; /* FP32 or BF16; the parameters are fp32 */
    uint64_t seed;          /* seed of dropout; the configuration holds its rates */
    struct clf__smoothing smoothing;
    /* The pad token's row of the output projection has no gradient. In MarianMT's models that row is zero,
     * being also the embedding that decoding starts from, and CTranslate2 counts on it. */
    int keeps_padding;
    const struct clf__communicator *communicator; /* the ranks that train together, borrowed; NULL: one
                                                   * rank */
    /* Each rank keeps the moments of its share of the parameters and updates that share (ZeRO stage 1).
     * All ranks then make the calls about norms and updates, and need only the summed gradients of their
     * share. */
    int shards_moments;
};

struct clf__training;

/* The transformer must be loaded in fp32; it is borrowed, and changes with every update. */
clf_status clf__training_create(struct clf__training **out, struct clf__transformer *transformer,
                                const struct clf__training_limits *limits,
                                const struct clf__training_options *options);
void clf__training_free(struct clf__training *training);

/* A batch of pairs: sequence b of the sources belongs to sequence b of the inputs (start token first) and
 * its labels, one per row of the inputs; a label of -1 does not count. */
struct clf__training_batch {
    struct clf__sequences sources, inputs;
    const int32_t *labels;
};

/* Sums over the labels that count. */
struct clf__training_loss {
    double loss; /* the training loss: smoothed, -sum q log p */
    double nll;  /* -log p of the labels */
    int64_t labels;
};

/* Runs forward and backward and adds the gradients of gradient_scale * loss to the present ones. `pass`
 * numbers the forward passes of the run: dropout depends on it. */
clf_status clf__training_backward(struct clf__training *training, const struct clf__training_batch *batch,
                                  float gradient_scale, uint32_t pass, struct clf__training_loss *loss);

/* The same in two halves: the first enqueues the work and, if `maps_gradients`, maps the gradients for sums.h
 * as they are completed; the second waits for the losses. */
clf_status clf__training_backward_begin(struct clf__training *training,
                                        const struct clf__training_batch *batch, float gradient_scale,
                                        uint32_t pass, int maps_gradients);
clf_status clf__training_backward_end(struct clf__training *training, struct clf__training_loss *loss);

/* Completes gradients that were summed over ranks, on a rank without a pass in this update: sets the
 * gradients of untrained parts to zero. */
clf_status clf__training_complete_sums(struct clf__training *training);

/* Runs the forward pass without dropout. */
clf_status clf__training_evaluate(struct clf__training *training, const struct clf__training_batch *batch,
                                  struct clf__training_loss *loss);

/* The Euclidean norm of all gradients, shared ones once; not finite if one of them is not finite. */
clf_status clf__training_gradient_norm(struct clf__training *training, double *norm);

/* One Adam step for every parameter; weight decay applies to parameters marked in the list. The gradients
 * become zero. */
clf_status clf__training_update(struct clf__training *training, const struct clf__adam *adam);

/* While training is paused its transformer computes in fp32 like a loaded one, so that a session may run
 * on it. Only the end of the pause may be called meanwhile. */
void clf__training_pause(struct clf__training *training, int is_paused);

/* Forgets the gradients. */
clf_status clf__training_clear(struct clf__training *training);

/* The parameters as named host values, for checkpoints and tests; index as in the list. Those that are not
 * trained (a zero bias that the family stores) have zero gradients and moments. */
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
