/* Training of a transformer: forward and backward passes over ragged batches, gradients, Adam. Gradients,
 * moments and activations are allocated once. */
#ifndef CLF_BACKPROP_TRAINING_H
#define CLF_BACKPROP_TRAINING_H

#include "math/ops/adam.h"
#include "math/ops/cross_entropy.h"
#include "model/parameters.h"
#include "model/transformer.h"
#include "model/upload.h"
#include "runtime/cluster/communicator.h"

/* The largest batch of a forward pass. */
struct clf__training_limits {
    int sequences;
    int source_tokens, target_tokens; /* total of all sequences */
    int source_length, target_length; /* maximum length of a sequence */
};

struct clf__training_options {
    enum clf__precision gemm_precision; /* FP32 or BF16; the parameters are fp32 */
    uint64_t seed;                      /* for dropout; the rates are in the configuration */
    struct clf__smoothing smoothing;
    /* 1: the pad token's row of the output projection has no gradient. In MarianMT models, it is also the
     * embedding of the start token and must stay zero for CTranslate2. */
    int keeps_padding;
    const struct clf__communicator
        *communicator; /* the ranks of data-parallel training; not owned; NULL: one rank */
    /* ZeRO stage 1: each rank updates its share of the parameters and keeps only the moments of its share.
     * The gradient norm and the update are then collective, and a rank needs only the summed gradients of its
     * share.
     */
    int shards_moments;
};

struct clf__training;

/* Creates the training state of a transformer, which must be loaded in fp32 and is not owned. Updates change
 * the transformer's weights. */
clf_status clf__training_create(struct clf__training **out, struct clf__transformer *transformer,
                                const struct clf__training_limits *limits,
                                const struct clf__training_options *options);
void clf__training_free(struct clf__training *training);

/* A batch of pairs: source b and input b (start token first). Each input row has a label; rows with label -1
 * are ignored. */
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

/* Runs a forward and a backward pass and adds the gradients of gradient_scale * loss. `pass`, the number of
 * the forward pass in the run, determines the dropout masks. */
clf_status clf__training_backward(struct clf__training *training, const struct clf__training_batch *batch,
                                  float gradient_scale, uint32_t pass, struct clf__training_loss *loss);

/* The two halves of clf__training_backward(): the first enqueues the work and, if `maps_gradients`, maps
 * complete gradients for sums.h; the second waits for the losses. */
clf_status clf__training_backward_begin(struct clf__training *training,
                                        const struct clf__training_batch *batch, float gradient_scale,
                                        uint32_t pass, int maps_gradients);
clf_status clf__training_backward_end(struct clf__training *training, struct clf__training_loss *loss);

/* On a rank without a pass in this update, completes the summed gradients by clearing those of untrained
 * parts. */
clf_status clf__training_complete_sums(struct clf__training *training);

/* Runs the forward pass without dropout. */
clf_status clf__training_evaluate(struct clf__training *training, const struct clf__training_batch *batch,
                                  struct clf__training_loss *loss);

/* Computes the L2 norm of all gradients, counting shared gradients once. The norm is not finite if a gradient
 * is not. */
clf_status clf__training_gradient_norm(struct clf__training *training, double *norm);

/* Updates all parameters with Adam and clears the gradients. Weight decay applies to the parameters marked in
 * the list. */
clf_status clf__training_update(struct clf__training *training, const struct clf__adam *adam);

/* Pauses or resumes training. While training is paused, a session can use the model with weights in fp32, but
 * no other function of this file may be called. */
void clf__training_pause(struct clf__training *training, int is_paused);

/* Clears the gradients. */
clf_status clf__training_clear(struct clf__training *training);

/* Values, gradients and moments as host arrays, indexed as in the parameter list, for checkpoints and tests.
 * Untrained parameters (MarianMT's logits bias) have zero gradients and moments. */
enum clf__training_values { CLF__VALUES, CLF__GRADIENTS, CLF__FIRST_MOMENTS, CLF__SECOND_MOMENTS };
const struct clf__parameter_list *clf__training_parameters(const struct clf__training *training);
clf_status clf__training_read(const struct clf__training *training, enum clf__training_values which,
                              int index, float *target);
clf_status clf__training_write(struct clf__training *training, enum clf__training_values which, int index,
                               const float *source);

/* Returns 1 if the moments are sharded. */
int clf__training_shards_moments(const struct clf__training *training);

/* Access sharded moments through the memory of the gradients, which are zero between updates.
 * clf__training_collect_moments() (collective) gathers all moments of one kind there;
 * clf__training_take_moments() copies this rank's share from there. Then call clf__training_clear() to
 * restore the zeros. */
clf_status clf__training_collect_moments(struct clf__training *training, enum clf__training_values which);
clf_status clf__training_take_moments(struct clf__training *training, enum clf__training_values which);

#endif
