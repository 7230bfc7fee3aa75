/* The gradients of an update: the sum over the gradients of its micro-batches on all ranks, in the order
 * of runtime/cluster/tree.h, so that the bits do not depend on the number of ranks. */
#ifndef CLF_BACKPROP_SUMS_H
#define CLF_BACKPROP_SUMS_H

#include "model/backprop/training.h"
#include "runtime/cluster/tree.h"

struct clf__gradient_sums;

struct clf__gradient_sums_options {
    int64_t most; /* maximum micro-batches per update, which the ranks share evenly */
    /* Micro-batches are summed in place, and the ranks' sums in MPI's order, or as a tree of ranks; this
     * saves the memory of a tree of micro-batches. */
    int is_any_order;
    int is_bf16; /* micro-batches and all sums of them are rounded to bf16: see runtime/cluster/tree.h */
};

/* training: borrowed. Its ranks sum the gradients; each rank receives the part that it needs
 * (clf__training_options). */
clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__gradient_sums_options *options);
void clf__gradient_sums_free(struct clf__gradient_sums *sums);

/* Returns the host memory of the sums in bytes. */
uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums);

/* Adds the gradients of micro-batch `number` to the sums and clears the gradients. Not for the last
 * micro-batch of this rank in an update. */
clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number);

/* Returns whether the last pass of this rank in an update must map the gradients to the host. */
int clf__gradient_sums_borrow(const struct clf__gradient_sums *sums);

/* Completes the sums of an update of `count` micro-batches while the device computes the last pass of this
 * rank, micro-batch `number` (-1: this rank has none). The other micro-batches were taken. The gradients are
 * then the sums over all micro-batches. Collective. */
clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t number, int64_t count);

#endif
