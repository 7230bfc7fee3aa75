/* The gradients of an update: the sum over micro-batches on all ranks, in the order of
 * runtime/cluster/tree.h. The sums are bit-identical for any number of ranks. */
#ifndef CLF_BACKPROP_SUMS_H
#define CLF_BACKPROP_SUMS_H

#include "model/backprop/training.h"
#include "runtime/cluster/tree.h"

struct clf__gradient_sums;

struct clf__gradient_sums_options {
    int64_t most; /* maximum number of micro-batches per update, divided evenly among the ranks */
    /* 1: sums micro-batches in place and ranks in MPI's order or as a tree, which saves the memory of a
     * micro-batch tree. */
    int is_any_order;
    int is_bf16; /* rounds micro-batches and all sums to bf16 (runtime/cluster/tree.h) */
};

/* The ranks of `training`, which is not owned, sum the gradients; each rank receives the part that it needs
 * (struct clf__training_options). */
clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__gradient_sums_options *options);
void clf__gradient_sums_free(struct clf__gradient_sums *sums);

/* Returns the host memory of the sums in bytes. */
uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums);

/* Adds the gradients of micro-batch `number` to the sums and clears the gradients. Not for the rank's last
 * micro-batch of an update. */
clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number);

/* Returns 1 if the rank's last backward pass of an update must map the gradients to the host. */
int clf__gradient_sums_borrow(const struct clf__gradient_sums *sums);

/* Completes the sums of an update of `count` micro-batches while the device computes this rank's last one,
 * micro-batch `number` (-1: none). The gradients are then the sums over all micro-batches. Collective.
 */
clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t number, int64_t count);

#endif
