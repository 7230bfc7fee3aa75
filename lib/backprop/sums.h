/* The gradients of an update as the sum of those of its micro-batches, over all ranks: in the order of
 * cluster/tree.h, so that its bits do not depend on how many ranks there are. */
#ifndef CLF_BACKPROP_SUMS_H
#define CLF_BACKPROP_SUMS_H

#include "backprop/training.h"
#include "cluster/tree.h"

struct clf__gradient_sums;

/* training, communicator: borrowed. most: micro-batches of an update, which the ranks share evenly.
 * is_any_order: they are added where they lie, and the ranks' sums as MPI likes it, without a tree and its
 * memory. */
clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__communicator *communicator, int64_t most,
                                     int is_any_order);
void clf__gradient_sums_free(struct clf__gradient_sums *sums);

/* Bytes of the host's memory that it takes. */
uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums);

/* The training's gradients are now those of one micro-batch, by its number in the update. Those of the next
 * one of this rank begin at zero; is_last: there is none. */
clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number, int is_last);

/* All micro-batches of an update, `count` of them, were taken by their ranks: the training's gradients become
 * their sum. Every rank calls it. */
clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t count);

#endif
