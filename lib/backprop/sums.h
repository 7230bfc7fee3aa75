/* The gradients of an update as the sum of those of its micro-batches, over all ranks: in the order of
 * cluster/tree.h, so that its bits do not depend on how many ranks there are. */
#ifndef CLF_BACKPROP_SUMS_H
#define CLF_BACKPROP_SUMS_H

#include "backprop/training.h"
#include "cluster/tree.h"

struct clf__gradient_sums;

struct clf__gradient_sums_options {
    int64_t most; /* micro-batches of an update, which the ranks share evenly */
    /* They are added where they lie, and the ranks' sums as MPI likes it, or as a tree of ranks, without the
     * memory of a tree of micro-batches. */
    int is_any_order;
    int is_bf16; /* micro-batches and all sums of them are rounded to bf16: see cluster/tree.h */
};

/* training: borrowed; its ranks add up, each what it needs (clf__training_options). */
clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__gradient_sums_options *options);
void clf__gradient_sums_free(struct clf__gradient_sums *sums);

/* Bytes of the host's memory that it takes. */
uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums);

/* The training's gradients are now those of one micro-batch, by its number in the update, and not the last
 * one of this rank. Those of the next one begin at zero. */
clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number);

/* Whether the last pass of this rank in an update has to lend the gradients. */
int clf__gradient_sums_borrow(const struct clf__gradient_sums *sums);

/* The last pass is enqueued, and all micro-batches but this rank's last one, `number`, were taken by their
 * ranks; -1: this rank had none in the update, which has `count`. The gradients become the sum of all of them
 * while the device still computes them. Every rank calls it. */
clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t number, int64_t count);

#endif
