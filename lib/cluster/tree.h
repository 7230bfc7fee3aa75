/* The order in which what ranks computed is added up: a binary tree over the micro-batches of an update,
 * which depends on nothing but their number. A node of level k is the sum of 2^k leaves, the first of which
 * is a multiple of 2^k: that of its left half plus that of its right half. What is left at the end is added
 * from the last node to the first. */
#ifndef CLF_CLUSTER_TREE_H
#define CLF_CLUSTER_TREE_H

#include "cluster/communicator.h"

struct clf__tree_node {
    int64_t index; /* its first leaf is index * 2^level */
    int level;
};

/* Consecutive leaves. */
struct clf__tree_leaves {
    int64_t first, count;
};

/* At most so many nodes make up any stretch of leaves. */
enum { CLF__TREE_NODES = 128 };

/* The largest nodes that make up a stretch, from left to right; returns how many. */
int clf__tree_nodes(struct clf__tree_node *nodes, struct clf__tree_leaves leaves);

/* Whether b is the right half of a node whose left half is a. */
int clf__tree_are_halves(const struct clf__tree_node *a, const struct clf__tree_node *b);

/* How many sums wait at most for their right halves while the leaves of a stretch come one after the other.
 */
int clf__tree_waiting(struct clf__tree_leaves leaves);

/* The leaves of a rank where `ranks` of them, which divide `most`, share an update of up to `most` leaves, of
 * which this one has `count`. */
struct clf__tree_leaves clf__tree_share(int64_t most, int64_t count, int ranks, int rank);

/* What adds up the nodes of all ranks. */
struct clf__tree_sum {
    const struct clf__communicator *communicator;
    struct clf__tree_node *nodes; /* of all ranks, from left to right */
    int *node_counts;             /* (size) */
    int node_count;
    size_t *sent, *received, *own; /* (size) counts of floats */
    float *parts;                  /* of all nodes, the stretch of the sum that is this rank's */
    float *packed;                 /* what goes to the others */
};

/* Room for clf__tree_add(); most: leaves of an update. Freed by clf__tree_sum_free(), also after a failure.
 */
clf_status clf__tree_sum_create(struct clf__tree_sum *out, const struct clf__communicator *communicator,
                                int64_t most);
void clf__tree_sum_free(struct clf__tree_sum *sum);

/* Bytes of host memory that it takes. */
size_t clf__tree_sum_bytes(const struct clf__communicator *communicator, int64_t most);

/* The sum over an update of `count` leaves: values[i] are the `length` floats of this rank's i-th node. Every
 * rank gets the sum in `total`, which may be one of values. */
clf_status clf__tree_add(struct clf__tree_sum *sum, int64_t most, int64_t count, float *const *values,
                         float *total, size_t length);

#endif
